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

// SinCos computes the sine and cosine of a float32 angle, within 2e-7 of the exact values for |x| up to 1e5.
//
// graph.Sin and graph.Cos are exact for all numbers, but take three times as long on CPU. Here x is reduced to r = x -
// kπ in [-π/2, π/2], where polynomials in r² (minimax, fitted by least squares with Lawson's weights) give both
// functions up to the sign (-1)^k.
func SinCos(x *graph.Array) (sin, cos *graph.Array) {
	k := x.Mul(1 / math.Pi).Add(.5).Floor()
	r := x.Add(k.Mul(-piHigh)).Add(k.Mul(-piMid)).Add(k.Mul(-piLow))
	z := r.Mul(r)
	horner := func(coefficients ...float64) *graph.Array {
		y := graph.Scalar(coefficients[0])
		for _, c := range coefficients[1:] {
			y = y.Mul(z).Add(c)
		}
		return y
	}
	half := k.Mul(.5)
	sign := half.Sub(half.Floor()).Mul(-4).Add(1)
	sin = r.Mul(sign).Mul(horner(2.59989948e-6, -1.98065454e-4, 8.33301633e-3, -1.66666571e-1, 1))
	cos = sign.Mul(horner(-2.61924537e-7, 2.47692392e-5, -1.38885682e-3, 4.16666557e-2, -.5, 1))
	return sin, cos
}

// WrapAngle moves an angle into [-π, π) by whole turns. It uses floor because a floating-point remainder is a slow
// library call for each lane on CPU.
func WrapAngle(x *graph.Array) *graph.Array {
	turns := x.Mul(1 / (2 * math.Pi)).Add(.5).Floor()
	return x.Sub(turns.Mul(2 * math.Pi))
}
