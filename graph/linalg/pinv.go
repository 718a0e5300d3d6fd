package linalg

import "xlarun/graph"

// Functions of the singular values of a matrix, and of matrices [..., m, n] one by one.

// Pinv is the pseudo-inverse of x [..., m, n]: [..., n, m]. Singular values up to rcond times the largest count as 0;
// the default is 10 max(m, n) epsilon. As jax.numpy.linalg.pinv.
func Pinv(x *graph.Array, rcond ...float64) *graph.Array {
	x = graph.Linalg.Matrix("Pinv", x)
	if x.Size() == 0 {
		return graph.MatrixTranspose(x)
	}
	if x.Rank() > 2 {
		return graph.VMap(func(x *graph.Array) *graph.Array { return Pinv(x, rcond...) })(x)
	}
	least := 10 * float64(max(x.Dim(0), x.Dim(1))) * graph.Finfo(x.DType()).Eps
	if len(rcond) == 1 {
		least = rcond[0]
	} else if len(rcond) > 1 {
		graph.Throw("Pinv", "got %d values of rcond, want one or none", len(rcond))
	}
	// The derivative of Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
	// whose variables separate" (1973), needs no derivative of singular vectors: those of equal values have none.
	return graph.CustomJvp(func(x *graph.Array) *graph.Array { return pinv(x, least) },
		func(x, t *graph.Array) (*graph.Array, *graph.Array) {
			p := pinv(x, least)
			pt, tt := graph.MatrixTranspose(p), graph.MatrixTranspose(t)
			left := graph.Eye(x.DType(), x.Dim(0)).Sub(x.Dot(p))
			right := graph.Eye(x.DType(), x.Dim(1)).Sub(p.Dot(x))
			change := p.Dot(t).Dot(p).Neg()
			change = change.Add(p.Dot(pt).Dot(tt.Dot(left)))
			return p, change.Add(right.Dot(tt).Dot(pt.Dot(p)))
		})(x)
}

// pinv is the pseudo-inverse of one matrix. Singular values up to least times the largest count as 0.
func pinv(x *graph.Array, least float64) *graph.Array {
	u, s, vt := SVD(x)
	counts := graph.Gt(s, graph.ReduceMax(s, 0).Mul(least))
	inverse := graph.Select(counts, graph.Div(1, graph.Select(counts, s, graph.OnesLike(s))), graph.ZerosLike(s))
	return graph.MatrixTranspose(vt).Dot(inverse.ExpandDims(1).Mul(graph.MatrixTranspose(u)))
}

// MatrixRank is the number of singular values of x [..., m, n] above tol times the largest, i32[...]; the default tol
// is max(m, n) epsilon. As jax.numpy.linalg.matrix_rank with rtol.
func MatrixRank(x *graph.Array, tol ...float64) *graph.Array {
	x = graph.Linalg.Matrix("MatrixRank", x)
	least := float64(max(x.Dim(-1), x.Dim(-2))) * graph.Finfo(x.DType()).Eps
	if len(tol) == 1 {
		least = tol[0]
	} else if len(tol) > 1 {
		graph.Throw("MatrixRank", "got %d values of tol, want one or none", len(tol))
	}
	_, s, _ := SVD(x)
	return graph.Gt(s, graph.ReduceMax(s, -1).ExpandDims(-1).Mul(least)).Convert(graph.Int32).Sum(-1)
}

// Cond is the largest singular value of x [..., m, n] over its smallest, [...]. As jax.numpy.linalg.cond.
func Cond(x *graph.Array) *graph.Array {
	_, s, _ := SVD(graph.Linalg.Matrix("Cond", x))
	return graph.IndexAxis(s, -1, 0).Div(graph.IndexAxis(s, -1, -1))
}
