package special

import (
	"math"

	"xlarun/graph"
)

// Logarithms of gamma functions of large arguments are large, and their differences are what is left of them. The
// functions here are those differences without the part that cancels (DiDonato and Morris, "Algorithm 708", 1992;
// Loader, "Fast and accurate computation of binomial probabilities", 2000).

var halfLog2Pi = math.Log(2*math.Pi) / 2

// stirlingFrom is the argument from which Stirling's series has all digits.
func stirlingFrom(d graph.DType) float64 {
	if d == graph.Float64 {
		return 8
	}
	return 4
}

// inReciprocal is the sum of c[j] x^(-2j), x at least stirlingFrom.
func inReciprocal(x *graph.Array, c []float64) *graph.Array {
	if x.DType() != graph.Float64 {
		c = c[:4]
	}
	q := x.Reciprocal().Square()
	y := graph.FullLike(x, c[len(c)-1])
	for j := len(c) - 2; j >= 0; j-- {
		y = y.Mul(q).Add(c[j])
	}
	return y
}

// LgammaCorrection is what Stirling's formula leaves of Lgamma: lgamma(x) - (x - 1/2) log x + x - log(2π)/2, x
// positive. It is accurate where x is large (Abramowitz and Stegun 6.1.41). 16-bit floats are computed as float32.
// Largest error: 40 ULP in float64, 20 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1 unless x is at
// least 8.
func LgammaCorrection(x any) *graph.Array {
	a := floatOf("LgammaCorrection", x)
	z := graph.Arguments.Float32(a)
	least := stirlingFrom(z.DType())
	low := z.Lt(least)
	near := graph.Select(low, z, least)
	small := graph.Lgamma(near).Sub(near.Sub(.5).Mul(near.Log()).Sub(near).Add(halfLog2Pi))
	return graph.Select(low, small, stirling(graph.Select(low, least, z))).Convert(a.DType())
}

// stirling is LgammaCorrection for x of at least stirlingFrom.
func stirling(x *graph.Array) *graph.Array {
	return inReciprocal(x, []float64{1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360,
		1. / 156, -3617. / 122400}).Div(x)
}

// DigammaCorrection is digamma(x) - log x, x positive, accurate where x is large (Abramowitz and Stegun 6.3.18). 16-bit
// floats are computed as float32. Largest error: 40 ULP in float64, 20 in float32, 1 in 16-bit floats.
func DigammaCorrection(x any) *graph.Array {
	a := floatOf("DigammaCorrection", x)
	z := graph.Arguments.Float32(a)
	least := stirlingFrom(z.DType())
	low := z.Lt(least)
	near, far := graph.Select(low, z, least), graph.Select(low, least, z)
	series := inReciprocal(far, []float64{1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12,
		-3617. / 8160})
	r := far.Reciprocal()
	large := r.Mul(graph.Add(.5, r.Mul(series))).Neg()
	return graph.Select(low, graph.Digamma(near).Sub(near.Log()), large).Convert(a.DType())
}

// digammaRise is digamma(x+h) - digamma(x) of positive x and h, NaN of negative ones. It keeps its digits where one is
// much smaller than the other (Abramowitz and Stegun 6.3.5 and 6.3.18).
func digammaRise(x, h *graph.Array) *graph.Array {
	sum := h.Div(x.Add(h)).Div(x)
	least := stirlingFrom(x.DType())
	for k := 1; k < int(least); k++ {
		y := x.Add(k)
		sum = sum.Add(h.Div(y.Mul(y.Add(h))))
	}
	y := x.Add(least)
	log := graph.Log1p(h.Div(y))
	sum = sum.Add(log.Add(graph.Mul(.5, h).Div(y.Mul(y.Add(h)))))
	q := y.Reciprocal().Square()
	power := graph.OnesLike(x)
	for k, c := range []float64{1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12,
		-3617. / 8160} {
		power = power.Mul(q)
		sum = sum.Sub(graph.Mul(c, power).Mul(graph.Expm1(graph.Mul(-2*float64(k+1), log))))
	}
	return graph.Select(x.Lt(0).Or(h.Lt(0)), math.NaN(), sum)
}

// logRatio is log(x/y) of positive x and y, accurate next to 0 and where the quotient overflows. So is its derivative.
func logRatio(x, y *graph.Array) *graph.Array {
	return graph.CustomJvp(logRatioValue, func(v, t pair) (*graph.Array, *graph.Array) {
		return logRatioValue(v), t.X.Div(v.X).Sub(t.Y.Div(v.Y))
	})(pair{x, y})
}

func logRatioValue(v pair) *graph.Array {
	x, y := v.X, v.Y
	q := x.Div(y)
	close := q.Gt(.5).And(q.Lt(2))
	near := graph.Log1p(graph.Select(close, x.Sub(y).Div(y), 0))
	return graph.Select(close, near, graph.Mul(2, x.Sqrt().Div(y.Sqrt()).Log()))
}

// pair is a tree of two arguments.
type pair struct{ X, Y *graph.Array }

// deviance is x log(x/y) - x + y of positive x and y (Loader, section 3).
func deviance(x, y *graph.Array) *graph.Array {
	return graph.CustomJvp(devianceValue, func(v, t pair) (*graph.Array, *graph.Array) {
		slope := logRatio(v.X, v.Y).Mul(t.X).Add(v.Y.Sub(v.X).Div(v.Y).Mul(t.Y))
		return devianceValue(v), slope
	})(pair{x, y})
}

func devianceValue(v pair) *graph.Array {
	x, y := v.X, v.Y
	apart := x.Sub(y)
	w := graph.Mul(.5, apart).Div(graph.Mul(.5, x).Add(graph.Mul(.5, y)))
	close := w.Abs().Lt(.1)
	near := graph.Select(close, w, 0)
	q := near.Square()
	terms := 4
	if x.DType() == graph.Float64 {
		terms = 8
	}
	series := graph.ZerosLike(x)
	for j := terms; j > 0; j-- {
		series = q.Mul(graph.Add(1/float64(2*j+1), series))
	}
	small := near.Mul(apart.Add(graph.Mul(2, x).Mul(series)))
	return graph.Select(close, small, x.Mul(logRatio(x, y)).Sub(apart))
}

// normal is x, of float32 or float64, and 0 where that is below the smallest normal number: compilers take such numbers
// for 0 in some places and not in others.
func normal(x *graph.Array) *graph.Array {
	return graph.Select(x.Abs().Lt(graph.Finfo(x.DType()).Tiny), 0, x)
}
