package graph

import "math"

// The compilers' single-precision erf_inv is an approximation that they all share (M. Giles, "Approximating the erfinv
// function", GPU Computing Gems Jade, 2011). Next to 1 and -1 it is off by up to 1e-5, because it rounds x*x. The
// reference does the same, so that the tails of normal draws agree between backends; half precision goes through it
// too.
func init() {
	erfInvOp.Eval = func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(in[0].Shape)
		for i := range out.V {
			if x := in[0].F(i); out.Shape.DType == Float64 {
				out.SetF(i, math.Erfinv(x))
			} else {
				out.SetF(i, erfInvSingle(float32(x)))
			}
		}
		return []*Tensor{out}
	}
}

// erfInvCoefficients are the coefficients of the polynomials for the center and for the tails, highest power first.
var erfInvCoefficients = [2][9]float64{
	{2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
		0.246640727, 1.50140941},
	{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
		1.00167406, 2.83297682},
}

// erfInvSingle rounds to float32 where that is seen in the result: in x*x and in its logarithm.
func erfInvSingle(x float32) float64 {
	if x == 1 || x == -1 {
		return math.Inf(int(x))
	}
	square := x * x
	w := float64(float32(-math.Log1p(-float64(square))))
	part := 0
	if w < 5 {
		w -= 2.5
	} else {
		w, part = math.Sqrt(w)-3, 1
	}
	p := 0.0
	for _, c := range erfInvCoefficients[part] {
		p = p*w + c
	}
	return p * float64(x)
}
