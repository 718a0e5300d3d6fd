package special

import (
	"math"

	"xlarun/graph"
)

// XLogY is x log(y), 0 where x is 0 whatever y is, but NaN where x is 0 and y is NaN; its derivative at x = 0 and
// positive finite y is log(y). Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func XLogY(x, y any) *graph.Array { return timesLog("XLogY", x, y, graph.Log, 0) }

// XLog1pY is x log(1+y), 0 where x is 0 whatever y is, but NaN where x is 0 and y is NaN. Largest error: 1 ULP in
// float64, 1 in float32, 1 in 16-bit floats.
func XLog1pY(x, y any) *graph.Array { return timesLog("XLog1pY", x, y, graph.Log1p, -1) }

// timesLog is x log(y), where log is defined above least.
func timesLog(name string, x, y any, log func(any) *graph.Array, least float64) *graph.Array {
	a := graph.Arguments.Floats(name, x, y)
	if a[0].DType() == graph.Complex64 {
		graph.Throw(name, "got %s, want real numbers: take Real, Imag or Abs first", a[0].Shape())
	}
	// Where the logarithm is finite the product is right for x = 0 too, and so is its derivative.
	plain := a[1].Gt(least).And(a[1].Lt(math.Inf(1)))
	safe := plain.Or(a[0].Ne(0)).Or(a[1].IsNaN())
	return graph.Select(safe, a[0].Mul(log(graph.Select(safe, a[1], 1))), 0)
}

// Logit is log(p / (1-p)), the inverse of Logistic. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit
// floats.
func Logit(p any) *graph.Array {
	a := floatOf("Logit", p)
	return a.Div(graph.Sub(1, a)).Log()
}

// Entr is -x log(x), 0 at 0 and -Inf below it. Largest error: 2 ULP in float64, 1 in float32, 2 in 16-bit floats.
func Entr(x any) *graph.Array {
	a := floatOf("Entr", x)
	return graph.Select(a.Lt(0), math.Inf(-1), XLogY(a, a).Neg())
}

// RelEntr is x log(x / y) of x, y above 0, 0 where x is 0 and y is not below it, +Inf elsewhere. Largest error: 2 ULP
// in float64, 1 in float32, 1 in 16-bit floats.
func RelEntr(x, y any) *graph.Array {
	a := graph.Arguments.Floats("RelEntr", x, y)
	both := a[0].Gt(0).And(a[1].Gt(0))
	p, q := graph.Select(both, a[0], 1), graph.Select(both, a[1], 1)
	outside := graph.Select(a[0].Eq(0).And(a[1].Ge(0)), 0, math.Inf(1))
	outside = graph.Select(a[0].Add(a[1]).IsNaN(), math.NaN(), outside)
	return graph.Select(both, p.Mul(logRatio(p, q)), outside)
}

// KLDiv is RelEntr(x, y) - x + y: it is convex, and 0 where x is y. 16-bit floats are computed as float32. Largest
// error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func KLDiv(x, y any) *graph.Array {
	a := graph.Arguments.Floats("KLDiv", x, y)
	p, q := graph.Arguments.Float32(a[0]), graph.Arguments.Float32(a[1])
	both := p.Gt(0).And(q.Gt(0)).And(p.Add(q).IsFinite())
	near := deviance(graph.Select(both, p, 1), graph.Select(both, q, 1))
	return graph.Select(both, near, RelEntr(p, q).Sub(p).Add(q)).Convert(a[0].DType())
}
