package graph

// Cov is the covariance matrix [n, n] of n variables that were seen together m times, x [n, m], over m - ddof.
// numpy.cov has a ddof of 1.
func Cov(x *Array, ddof float64) *Array {
	const name = "Cov"
	if x.Rank() != 2 || x.Dim(1) == 0 {
		throw(name, "got %s, want [variables, observations] with one observation or more", x.shape)
	}
	x = fromFirst(inFloat32(x), []int{1})
	x = Sub(x, Mean(x, 1).ExpandDims(1))
	return Div(Dot(x, Conj(MatrixTranspose(x))), float64(x.Dim(1))-ddof)
}

// CorrCoef is the matrix [n, n] of the correlation coefficients of n variables that were seen together m times, x
// [n, m].
func CorrCoef(x *Array) *Array {
	c := Cov(x, 1)
	s := Sqrt(Diagonal(c, -2, -1))
	return Clamp(-1, Div(Div(c, ExpandDims(s, 1)), s), 1)
}

// Average is the mean with weights over the given axes, all if none is given: the sum of weights times x over the
// sum of the weights, which broadcast to x.
func Average(x, weights *Array, axes ...int) *Array {
	a := floatOperands("Average", x, weights)
	w := BroadcastTo(a[1], a[0].Dims()...)
	return Div(Sum(Mul(a[0], w), axes...), Sum(w, axes...))
}

// Range is the largest element less the smallest one, over the given axes or all. It is numpy.ptp.
func Range(x *Array, axes ...int) *Array { return Sub(ReduceMax(x, axes...), ReduceMin(x, axes...)) }

// CountNonzero is the number of elements that are not 0, int32, over the given axes or all.
func CountNonzero(x *Array, axes ...int) *Array {
	return Sum(Convert(LogicalNot(LogicalNot(x)), Int32), axes...)
}
