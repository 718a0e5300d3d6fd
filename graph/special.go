package graph

import "math"

// XLogY is x log(y), 0 where x is 0 whatever y is, but NaN where x is 0 and y is NaN; its derivative at x = 0 and
// positive finite y is log(y).
func XLogY(x, y any) *Array { return timesLog("XLogY", x, y, Log, 0) }

// XLog1pY is x log(1+y), 0 where x is 0 whatever y is, but NaN where x is 0 and y is NaN.
func XLog1pY(x, y any) *Array { return timesLog("XLog1pY", x, y, Log1p, -1) }

// timesLog is x log(y), where log is defined above least.
func timesLog(name string, x, y any, log func(any) *Array, least float64) *Array {
	a := floatOperands(name, x, y)
	// Where the logarithm is finite the product is right for x = 0 too, and so is its derivative.
	plain := And(Gt(a[1], least), Lt(a[1], math.Inf(1)))
	safe := Or(Or(plain, Ne(a[0], 0)), IsNaN(a[1]))
	return Select(safe, Mul(a[0], log(Select(safe, a[1], 1))), 0)
}
