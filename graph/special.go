package graph

import "math"

// XLogY is x log(y), 0 where x is 0 whatever y is, but NaN where x is 0 and y is NaN; its derivative at x = 0 and
// positive finite y is log(y). Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func XLogY(x, y any) *Array { return timesLog("XLogY", x, y, Log, 0) }

// XLog1pY is x log(1+y), 0 where x is 0 whatever y is, but NaN where x is 0 and y is NaN. Largest error: 1 ULP in
// float64, 1 in float32, 1 in 16-bit floats.
func XLog1pY(x, y any) *Array { return timesLog("XLog1pY", x, y, Log1p, -1) }

// timesLog is x log(y), where log is defined above least.
func timesLog(name string, x, y any, log func(any) *Array, least float64) *Array {
	a := floatOperands(name, x, y)
	// Where the logarithm is finite the product is right for x = 0 too, and so is its derivative.
	plain := And(Gt(a[1], least), Lt(a[1], math.Inf(1)))
	safe := Or(Or(plain, Ne(a[0], 0)), IsNaN(a[1]))
	return Select(safe, Mul(a[0], log(Select(safe, a[1], 1))), 0)
}

// Logit is log(p / (1-p)), the inverse of Logistic. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit
// floats.
func Logit(p any) *Array {
	a := floatOf("Logit", p)
	return Log(Div(a, Sub(1, a)))
}

// Entr is -x log(x), 0 at 0 and -Inf below it. Largest error: 2 ULP in float64, 1 in float32, 2 in 16-bit floats.
func Entr(x any) *Array {
	a := floatOf("Entr", x)
	return Select(Lt(a, 0), math.Inf(-1), Neg(XLogY(a, a)))
}

// RelEntr is x log(x / y) of x, y above 0, 0 where x is 0 and y is not below it, +Inf elsewhere. Largest error: 2 ULP
// in float64, 1 in float32, 1 in 16-bit floats.
func RelEntr(x, y any) *Array {
	a := floatOperands("RelEntr", x, y)
	both := And(Gt(a[0], 0), Gt(a[1], 0))
	p, q := Select(both, a[0], 1), Select(both, a[1], 1)
	outside := Select(And(Eq(a[0], 0), Ge(a[1], 0)), 0, math.Inf(1))
	outside = Select(IsNaN(Add(a[0], a[1])), math.NaN(), outside)
	return Select(both, Mul(p, logRatio(p, q)), outside)
}

// KLDiv is RelEntr(x, y) - x + y: it is convex, and 0 where x is y. 16-bit floats are computed as float32. Largest
// error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func KLDiv(x, y any) *Array {
	a := floatOperands("KLDiv", x, y)
	p, q := inFloat32(a[0]), inFloat32(a[1])
	both := And(And(Gt(p, 0), Gt(q, 0)), IsFinite(Add(p, q)))
	near := deviance(Select(both, p, 1), Select(both, q, 1))
	return Convert(Select(both, near, Add(Sub(RelEntr(p, q), p), q)), a[0].DType())
}
