package graph

import "math"

// Sine and cosine on the CPU are library calls there, one element at a time. This is straight arithmetic that
// vectorizes.

// turnParts add up to 1/2π, from its bit of weight 2^-3 to that of 2^-171. The product of any float32 with one of the
// first four, of 29 bits each, is exact in float64, and so are its whole turns, which are taken away; of the last one
// less than a thousandth of a turn's precision is lost for the largest number.
var turnParts = [...]float64{0x145f306dp-31, 0x19391054p-60, 0x14fe13abp-89, 0x1d1f534dp-118, 0x1b81b6c52b3278p-171}

// sinePolynomial, from the highest power down, is (sin r - r)/r³ in r² within a quarter of a turn: minimax, fitted by
// least squares with Lawson's weights. What it leaves is less than rounding.
var sinePolynomial = []float64{2.605780537e-6, -1.980960224e-4, 8.333066478e-3, -1.666665971e-1}

// leastTrig is the least number of elements for which vectors win over the library.
const leastTrig = 8

// lowerTrig is the Lower rule of sine, and of cosine, which is a quarter of a turn ahead. x is t turns and whole ones
// (Payne and Hanek, "Radian reduction for trigonometric functions", 1983, with parts in floating point instead of
// integers); the sine is the same at 1/2 - t, so that the polynomial is asked for a quarter of a turn to both sides at
// most.
func lowerTrig(ahead float64) LoweringRule {
	return func(l *Cursor, n *Node, in []*Array) []*Array {
		x := in[0]
		if !l.target.IsCPU() || x.Size() < leastTrig || x.DType() == Float64 || isComplex(x.DType()) {
			return nil
		}
		if d := x.DType(); d != Float32 {
			return []*Array{Convert(apply1(n.Op, nil, Convert(x, Float32)), d)}
		}
		wide := Convert(x, Float64)
		var turns *Array
		for i, part := range turnParts {
			y := Mul(wide, part)
			if i < len(turnParts)-1 {
				y = Sub(y, Round(y))
			}
			if turns == nil {
				turns = y
			} else {
				turns = Add(turns, y)
			}
		}
		if ahead != 0 {
			turns = Add(turns, ahead)
		}
		t := Sub(turns, Round(turns))
		quarter := Clamp(-.25, t, .25)
		r := Convert(Mul(Add(quarter, Sub(quarter, t)), 2*math.Pi), Float32)
		z := Mul(r, r)
		y := Full(x.shape, sinePolynomial[0])
		for _, c := range sinePolynomial[1:] {
			y = Add(Mul(y, z), c)
		}
		y = Add(r, Mul(r, Mul(z, y)))
		if ahead == 0 {
			y = Select(Eq(x, 0), x, y) // keeps the sign of zero
		}
		return []*Array{y}
	}
}
