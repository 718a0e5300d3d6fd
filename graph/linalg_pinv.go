package graph

// Functions of the singular values of a matrix, and of matrices [..., m, n] one by one.

// Pinv is the pseudo-inverse of x [..., m, n]: [..., n, m]. Singular values up to rcond times the largest count as 0;
// the default is 10 max(m, n) epsilon. As jax.numpy.linalg.pinv.
func Pinv(x *Array, rcond ...float64) *Array {
	x = matrix("Pinv", x)
	if x.Size() == 0 {
		return MatrixTranspose(x)
	}
	if x.Rank() > 2 {
		return VMap(func(x *Array) *Array { return Pinv(x, rcond...) })(x)
	}
	least := 10 * float64(max(x.Dim(0), x.Dim(1))) * Finfo(x.DType()).Eps
	if len(rcond) == 1 {
		least = rcond[0]
	} else if len(rcond) > 1 {
		throw("Pinv", "got %d values of rcond, want one or none", len(rcond))
	}
	// The derivative of Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
	// whose variables separate" (1973), needs no derivative of singular vectors: those of equal values have none.
	return CustomJvp(func(x *Array) *Array { return pinv(x, least) }, func(x, t *Array) (*Array, *Array) {
		p := pinv(x, least)
		pt, tt := MatrixTranspose(p), MatrixTranspose(t)
		left := Sub(Eye(x.DType(), x.Dim(0)), Dot(x, p))
		right := Sub(Eye(x.DType(), x.Dim(1)), Dot(p, x))
		change := Neg(Dot(Dot(p, t), p))
		change = Add(change, Dot(Dot(p, pt), Dot(tt, left)))
		return p, Add(change, Dot(Dot(right, tt), Dot(pt, p)))
	})(x)
}

// pinv is the pseudo-inverse of one matrix. Singular values up to least times the largest count as 0.
func pinv(x *Array, least float64) *Array {
	u, s, vt := SVD(x)
	counts := Gt(s, Mul(ReduceMax(s, 0), least))
	inverse := Select(counts, Div(1, Select(counts, s, OnesLike(s))), ZerosLike(s))
	return Dot(MatrixTranspose(vt), Mul(ExpandDims(inverse, 1), MatrixTranspose(u)))
}

// MatrixRank is the number of singular values of x [..., m, n] above tol times the largest, i32[...]; the default tol
// is max(m, n) epsilon. As jax.numpy.linalg.matrix_rank with rtol.
func MatrixRank(x *Array, tol ...float64) *Array {
	x = matrix("MatrixRank", x)
	least := float64(max(x.Dim(-1), x.Dim(-2))) * Finfo(x.DType()).Eps
	if len(tol) == 1 {
		least = tol[0]
	} else if len(tol) > 1 {
		throw("MatrixRank", "got %d values of tol, want one or none", len(tol))
	}
	_, s, _ := SVD(x)
	return Sum(Convert(Gt(s, Mul(ExpandDims(ReduceMax(s, -1), -1), least)), Int32), -1)
}

// ConditionNumber is the largest singular value of x [..., m, n] over its smallest, [...]. As jax.numpy.linalg.cond.
func ConditionNumber(x *Array) *Array {
	_, s, _ := SVD(matrix("ConditionNumber", x))
	return Div(IndexAxis(s, -1, 0), IndexAxis(s, -1, -1))
}
