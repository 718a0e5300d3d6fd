package special

import (
	"math"

	"xlarun/graph"
)

// Where the concentrations are large, a tail of a gamma or a beta distribution is an integral over a smooth function
// that falls from 1 to nothing, of which a few points know all digits, however large they are.

// integralFrom is the concentration from which tails are integrals; below it, series and fractions end soon.
const integralFrom = 64

// tailIntegral is the integral from s = 0 of e^-(rate s + rest(s)), where rest is at least about half of s² curve, by
// Gauss's rule, and moment that of s times it. rest gets the points along a new last axis, as the arrays v.
func tailIntegral(rate, curve *graph.Array, v []*graph.Array,
	rest func(s *graph.Array, v []*graph.Array) *graph.Array) (value, moment *graph.Array) {
	points, depth := 12, 24.
	if rate.DType() == graph.Float64 {
		points, depth = 26, 52
	}
	at, weights := gaussLegendre(points)
	root := graph.Mul(2*depth, curve).Sqrt()
	unit := rate.Abs().Max(root) // squares of large rates overflow
	length := unit.Mul(rate.Div(unit).Square().Add(root.Div(unit).Square()).Sqrt())
	reach := graph.Div(2*depth, rate.Add(length))
	row := func(v []float64) *graph.Array { return graph.Float64s(v).Convert(rate.DType()) }
	s := reach.ExpandDims(-1).Mul(row(at))
	wide := make([]*graph.Array, len(v))
	for i := range v {
		wide[i] = v[i].ExpandDims(-1)
	}
	falls := rate.ExpandDims(-1).Mul(s).Add(rest(s, wide)).Neg().Exp()
	falls = falls.Mul(row(weights))
	return reach.Mul(falls.Sum(-1)), reach.Mul(falls.Mul(s).Sum(-1))
}

// gaussLegendre are the points and the weights of Gauss's rule for integrals from 0 to 1.
func gaussLegendre(n int) (at, weights []float64) {
	at, weights = make([]float64, n), make([]float64, n)
	for i := range n {
		x := math.Cos(math.Pi * (float64(i) + .75) / (float64(n) + .5))
		slope := 0.
		for range 10 { // Newton
			p, last := 1., 0.
			for k := range n {
				p, last = (float64(2*k+1)*x*p-float64(k)*last)/float64(k+1), p
			}
			slope = float64(n) * (x*p - last) / (x*x - 1)
			x -= p / slope
		}
		at[i], weights[i] = (1+x)/2, 1/((1-x*x)*slope*slope)
	}
	return at, weights
}

// Expm1Rest is e^x - 1 - x, accurate near 0. 16-bit floats are computed as float32. Largest error: 2 ULP in float64, 2
// in float32, 1 in 16-bit floats.
func Expm1Rest(x any) *graph.Array {
	a := floatOf("Expm1Rest", x)
	return expm1Rest(graph.Arguments.Float32(a)).Convert(a.DType())
}

func expm1Rest(x *graph.Array) *graph.Array {
	close := x.Abs().Lt(.5)
	near := graph.Select(close, x, 0)
	terms := 6
	if x.DType() == graph.Float64 {
		terms = 12
	}
	series := graph.ZerosLike(x)
	for k := terms; k > 0; k-- {
		series = near.Mul(1 / float64(k+2)).Mul(graph.Add(1, series))
	}
	return graph.Select(close, graph.Mul(.5, near.Square()).Mul(graph.Add(1, series)), graph.Expm1(x).Sub(x))
}
