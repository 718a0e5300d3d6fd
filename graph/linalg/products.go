package linalg

import "xlarun/graph"

// Cross is the cross product of vectors along the last axis, [..., 3]; leading axes broadcast. Of vectors [..., 2] it
// is the third component, [...]. As jax.numpy.cross.
func Cross(x, y *graph.Array) *graph.Array {
	const name = "Cross"
	for _, a := range []*graph.Array{x, y} {
		if a == nil || a.Rank() == 0 || a.Dim(-1) != 2 && a.Dim(-1) != 3 {
			graph.Throw(name, "got %v, want vectors of 2 or 3 along the last axis", a)
		}
	}
	at := func(a *graph.Array, i int) *graph.Array {
		if i == a.Dim(-1) { // the third component of a vector of two
			return graph.ZerosLike(graph.IndexAxis(a, -1, 0))
		}
		return graph.IndexAxis(a, -1, i)
	}
	third := at(x, 0).Mul(at(y, 1)).Sub(at(x, 1).Mul(at(y, 0)))
	if x.Dim(-1) == 2 && y.Dim(-1) == 2 {
		return third
	}
	return graph.Stack([]*graph.Array{at(x, 1).Mul(at(y, 2)).Sub(at(x, 2).Mul(at(y, 1))),
		at(x, 2).Mul(at(y, 0)).Sub(at(x, 0).Mul(at(y, 2))), third}, -1)
}

// Trace is the sum of a diagonal of x [..., m, n]. An offset of k means the diagonal k places above the main one,
// below it if k is negative. As jax.numpy.trace of the last two axes.
func Trace(x *graph.Array, offset ...int) *graph.Array {
	if x.Rank() < 2 || len(offset) > 1 {
		graph.Throw("Trace", "got %s and %d offsets, want a matrix, or several with leading axes, and one offset or "+
			"none", x.Shape(), len(offset))
	}
	return graph.Diagonal(x, -2, -1, offset...).Sum(-1)
}
