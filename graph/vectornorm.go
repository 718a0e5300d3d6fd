package graph

import "math"

// VectorNorm is the norm of x along an axis, as jax.numpy.linalg.norm with axis and ord:
//
//	2       the root of the sum of squares
//	1       the sum of magnitudes
//	±Inf    the largest or the smallest magnitude
//	0       the number of elements other than 0
//	p       the p-th root of the sum of p-th powers
func VectorNorm(x *Array, axis int, ord float64) *Array {
	if x == nil || x.Rank() == 0 {
		throw("VectorNorm", "got %v, want an axis or more", x)
	}
	if !isInexact(x.DType()) {
		x = Convert(x, Float32)
	}
	size := Abs(x)
	switch {
	case math.IsNaN(ord):
		throw("VectorNorm", "got the ord NaN, want a number")
	case math.IsInf(ord, 1):
		return ReduceMax(size, axis)
	case math.IsInf(ord, -1):
		return ReduceMin(size, axis)
	case ord == 0:
		return Sum(Convert(Ne(x, 0), size.DType()), axis)
	case ord == 1:
		return Sum(size, axis)
	case ord == 2:
		return Sqrt(Sum(squaredSize(x), axis))
	}
	return Pow(Sum(Pow(size, ord), axis), 1/ord)
}
