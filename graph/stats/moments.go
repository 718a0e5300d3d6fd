package stats

import "xlarun/graph"

// Cov is the covariance matrix [n, n] of n variables that were seen together m times, x [n, m], over m - ddof.
// numpy.cov has a ddof of 1.
func Cov(x *graph.Array, ddof float64) *graph.Array {
	return cov("Cov", x, ddof)
}

func cov(name string, x *graph.Array, ddof float64) *graph.Array {
	if x.Rank() != 2 || x.Dim(1) == 0 {
		graph.Throw(name, "got %s, want [variables, observations] with one observation or more", x.Shape())
	}
	x = graph.Reduction{Axes: []int{1}}.Deviation(x)
	return x.Dot(graph.Conj(graph.MatrixTranspose(x))).Div(float64(x.Dim(1)) - ddof)
}

// CorrCoef is the matrix [n, n] of the correlation coefficients of n variables that were seen together m times, x
// [n, m].
func CorrCoef(x *graph.Array) *graph.Array {
	c := cov("CorrCoef", x, 1)
	s := graph.Real(graph.Diagonal(c, -2, -1)).Sqrt()
	c = c.Div(s.ExpandDims(1)).Div(s)
	if c.DType() == graph.Complex64 {
		return graph.Complex(graph.Real(c).Clamp(-1, 1), graph.Imag(c).Clamp(-1, 1))
	}
	return c.Clamp(-1, 1)
}

// Average is the mean with weights over the given axes, all if none is given: the sum of weights times x over the
// sum of the weights, which broadcast to x.
func Average(x, weights *graph.Array, axes ...int) *graph.Array {
	a := graph.Arguments.Floats("Average", x, weights)
	w := a[1].BroadcastTo(a[0].Dims()...)
	return a[0].Mul(w).Sum(axes...).Div(w.Sum(axes...))
}

// Range is the largest element less the smallest one, over the given axes or all. It is numpy.ptp.
func Range(x *graph.Array, axes ...int) *graph.Array {
	wantOrder("Range", x)
	return x.ReduceMax(axes...).Sub(x.ReduceMin(axes...))
}

// wantOrder refuses complex numbers.
func wantOrder(name string, x *graph.Array) {
	if x.DType() == graph.Complex64 {
		graph.Throw(name, "got %s, and complex numbers have no order: take Real, Imag or Abs first", x.Shape())
	}
}

// CountNonzero is the number of elements that are not 0, int32, over the given axes or all.
func CountNonzero(x *graph.Array, axes ...int) *graph.Array {
	return graph.LogicalNot(graph.LogicalNot(x)).Convert(graph.Int32).Sum(axes...)
}
