package graph

import "math"

// Where the concentrations are large, a tail of a gamma or a beta distribution is an integral over a smooth function
// that falls from 1 to nothing, of which a few points know all digits, however large they are.

// integralFrom is the concentration from which tails are integrals; below it, series and fractions end soon.
const integralFrom = 64

// tailIntegral is the integral from s = 0 of e^-(rate s + rest(s)), where rest is at least about half of s² curve, by
// Gauss's rule, and moment that of s times it. rest gets the points along a new last axis, as the arrays v.
func tailIntegral(rate, curve *Array, v []*Array, rest func(s *Array, v []*Array) *Array) (value, moment *Array) {
	points, depth := 12, 24.
	if rate.DType() == Float64 {
		points, depth = 26, 52
	}
	at, weights := gaussLegendre(points)
	root := Sqrt(Mul(2*depth, curve))
	unit := Max(Abs(rate), root) // squares of large rates overflow
	length := Mul(unit, Sqrt(Add(Square(Div(rate, unit)), Square(Div(root, unit)))))
	reach := Div(2*depth, Add(rate, length))
	row := func(v []float64) *Array { return Convert(Float64s(v), rate.DType()) }
	s := Mul(ExpandDims(reach, -1), row(at))
	wide := make([]*Array, len(v))
	for i := range v {
		wide[i] = ExpandDims(v[i], -1)
	}
	falls := Exp(Neg(Add(Mul(ExpandDims(rate, -1), s), rest(s, wide))))
	falls = Mul(falls, row(weights))
	return Mul(reach, Sum(falls, -1)), Mul(reach, Sum(Mul(falls, s), -1))
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
func Expm1Rest(x any) *Array {
	a := floatOf("Expm1Rest", x)
	return Convert(expm1Rest(inFloat32(a)), a.DType())
}

func expm1Rest(x *Array) *Array {
	close := Lt(Abs(x), .5)
	near := Select(close, x, 0)
	terms := 6
	if x.DType() == Float64 {
		terms = 12
	}
	series := ZerosLike(x)
	for k := terms; k > 0; k-- {
		series = Mul(Mul(near, 1/float64(k+2)), Add(1, series))
	}
	return Select(close, Mul(Mul(.5, Square(near)), Add(1, series)), Sub(Expm1(x), x))
}
