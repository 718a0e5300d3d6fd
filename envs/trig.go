package envs

import (
	"math"

	"xlarun/graph"
)

// π in three parts: the first two times a small integer are exact in float32, so that x - kπ keeps its low bits.
const (
	piHigh = 3.140625
	piMid  = 1014. / (1 << 20)
	piLow  = math.Pi - piHigh - piMid
)

// SinCos gives both functions of one float32 angle, within 2e-7 of the exact values for |x| up to 1e5.
//
// graph.Sin and graph.Cos hold for all numbers, at three times the cost on CPU; sines were four fifths of a CartPole
// step once. Here x is reduced to r = x - kπ in [-π/2, π/2], where polynomials in r² (minimax, fitted by least squares
// with Lawson's weights) give both functions up to the sign (-1)^k.
func SinCos(x *graph.Array) (sin, cos *graph.Array) {
	add, mul := graph.Add, graph.Mul
	k := add(mul(x, 1/math.Pi), .5).Floor()
	r := add(add(add(x, mul(k, -piHigh)), mul(k, -piMid)), mul(k, -piLow))
	z := mul(r, r)
	horner := func(coefficients ...float64) *graph.Array {
		y := graph.Scalar(coefficients[0])
		for _, c := range coefficients[1:] {
			y = add(mul(y, z), c)
		}
		return y
	}
	half := mul(k, .5)
	sign := add(mul(half.Sub(half.Floor()), -4), 1)
	sin = mul(mul(r, sign), horner(2.59989948e-6, -1.98065454e-4, 8.33301633e-3, -1.66666571e-1, 1))
	cos = mul(sign, horner(-2.61924537e-7, 2.47692392e-5, -1.38885682e-3, 4.16666557e-2, -.5, 1))
	return sin, cos
}

// WrapAngle moves an angle into [-π, π) by whole turns. Written with floor because a floating remainder is a slow
// library call for each lane on CPU.
func WrapAngle(x *graph.Array) *graph.Array {
	turns := x.Mul(1 / (2 * math.Pi)).Add(.5).Floor()
	return x.Sub(turns.Mul(2 * math.Pi))
}
