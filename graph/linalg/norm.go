package linalg

import (
	"math"

	"xlarun/graph"
)

// NormKind says which norm MatrixNorm takes.
type NormKind string

// Norms of a matrix.
const (
	Frobenius NormKind = "fro"     // root of the sum of squares
	Nuclear   NormKind = "nuclear" // sum of the singular values
	Spectral  NormKind = "2"       // largest singular value
	ColumnSum NormKind = "1"       // largest sum of magnitudes of a column
	RowSum    NormKind = "inf"     // largest sum of magnitudes of a row
)

// MatrixNorm is a norm [] of x [m, n], as jax.numpy.linalg.norm with the ord of that name.
func MatrixNorm(x *graph.Array, kind NormKind) *graph.Array {
	if x = graph.Linalg.Matrix("MatrixNorm", x); x.Rank() > 2 {
		return graph.VMap(func(x *graph.Array) *graph.Array { return MatrixNorm(x, kind) })(x)
	}
	switch kind {
	case Frobenius:
		return x.Square().Sum().Sqrt()
	case ColumnSum:
		return x.Abs().Sum(0).ReduceMax()
	case RowSum:
		return x.Abs().Sum(1).ReduceMax()
	case Nuclear, Spectral:
		_, s, _ := SVD(x)
		if kind == Spectral {
			return graph.Index(s, 0)
		}
		return graph.Sum(s)
	}
	graph.Throw("MatrixNorm", "got the kind %q, want Frobenius, Nuclear, Spectral, ColumnSum or RowSum", kind)
	return nil
}

// VectorNorm is the norm of x along an axis, as jax.numpy.linalg.norm with axis and ord:
//
//	2       the root of the sum of squares
//	1       the sum of magnitudes
//	±Inf    the largest, 0 of no elements, or the smallest magnitude
//	0       the number of elements other than 0
//	p       the p-th root of the sum of p-th powers
func VectorNorm(x *graph.Array, axis int, ord float64) *graph.Array {
	if x == nil || x.Rank() == 0 {
		graph.Throw("VectorNorm", "got %v, want an axis or more", x)
	}
	if !x.DType().IsFloat() && x.DType() != graph.Complex64 {
		x = x.Convert(graph.Float32)
	}
	size := x.Abs()
	switch {
	case math.IsNaN(ord):
		graph.Throw("VectorNorm", "got the ord NaN, want a number")
	case math.IsInf(ord, 1):
		if x.Dim(axis) == 0 {
			return size.Sum(axis)
		}
		return size.ReduceMax(axis)
	case math.IsInf(ord, -1):
		if x.Dim(axis) == 0 {
			graph.Throw("VectorNorm", "got %s and the ord -Inf, want one element or more along axis %d", x.Shape(),
				axis)
		}
		return size.ReduceMin(axis)
	case ord == 0:
		return x.Ne(0).Convert(size.DType()).Sum(axis)
	case ord == 1:
		return size.Sum(axis)
	case ord == 2:
		square := size.Square()
		if x.DType() == graph.Complex64 {
			square = graph.Real(x).Square().Add(graph.Imag(x).Square())
		}
		return square.Sum(axis).Sqrt()
	}
	return size.Pow(ord).Sum(axis).Pow(1 / ord)
}
