package linalg

import "xlarun/graph"

// SlogDet is the sign (-1, 0 or 1, []) and the logarithm of the absolute value ([]) of the determinant of x [n, n],
// which itself would soon overflow. A singular x gives 0 and -Inf. As jax.numpy.linalg.slogdet.
func SlogDet(x *graph.Array) (sign, logAbs *graph.Array) {
	if x = graph.Linalg.SquareMatrix("SlogDet", x); x.Rank() > 2 {
		return graph.VMap(func(x *graph.Array) graph.Pair[*graph.Array,
			*graph.Array] {
			return graph.PairOf(SlogDet(x))
		})(x).Unpack()
	}
	diagonal, swaps := luDiagonal(x)
	return swaps.Mul(graph.StopGradient(diagonal.Sign()).Prod()), diagonal.Abs().Log().Sum()
}

// luDiagonal is the diagonal of the upper factor [n] and the sign of the permutation [].
func luDiagonal(x *graph.Array) (diagonal, sign *graph.Array) {
	lu, pivots, _ := LU(x)
	return graph.Diagonal(lu, 0, 1), swapSign(pivots, x.DType())
}

// swapSign is the sign of the permutation of pivots [n], 1 or -1 [].
func swapSign(pivots *graph.Array, d graph.DType) *graph.Array {
	swaps := pivots.Ne(graph.Iota(pivots.Size())).Sum()
	return graph.Sub(1, swaps.Rem(2).Mul(2)).Convert(d)
}

// LogDet is the logarithm of the absolute value of the determinant of x [n, n].
func LogDet(x *graph.Array) *graph.Array {
	_, logAbs := SlogDet(x)
	return logAbs
}

// Det is the determinant of x [n, n]. From n = 4 on its second derivatives need x to be regular, and first derivatives
// of a float32 x of which more than five pivots are exactly 0 are less precise: 5e-5 of the largest for seven, 1e-3 for
// ten. As jax.numpy.linalg.det, whose first derivatives are wrong for some matrices of rank n - 1.
func Det(x *graph.Array) *graph.Array {
	if x = graph.Linalg.SquareMatrix("Det", x); x.Rank() > 2 {
		return graph.VMap(Det)(x)
	}
	element := func(i, j int) *graph.Array { return x.Index(i).Index(j) }
	minor := func(i, j, k, l int) *graph.Array {
		return element(i, j).Mul(element(k, l)).Sub(element(i, l).Mul(element(k, j)))
	}
	switch x.Dim(0) {
	case 0:
		return graph.Full(graph.Shape{DType: x.DType()}, 1)
	case 1:
		return element(0, 0)
	case 2:
		return minor(0, 0, 1, 1)
	case 3:
		return element(0, 0).Mul(minor(1, 1, 2, 2)).Sub(element(0, 1).Mul(minor(1, 0, 2, 2))).Add(element(0,
			2).Mul(minor(1, 0, 2, 1)))
	}
	return graph.CustomJvp(func(x *graph.Array) *graph.Array {
		diagonal, sign := luDiagonal(x)
		return sign.Mul(diagonal.Prod())
	}, detTangent)(x)
}

// detTangent is Det of x [n, n] and its derivative along t, by Jacobi's formula det(x) trace(x^-1 t). A pivot that is 0
// counts as one as small as rounding: cofactors are polynomials, so that this changes them by rounding only. Of many,
// it is so large that neither their product nor its inverse leaves the range of the dtype, in units of the largest
// element.
func detTangent(x, t *graph.Array) (*graph.Array, *graph.Array) {
	lu, pivots, permutation := LU(x)
	sign := swapSign(pivots, x.DType())
	diagonal := graph.Diagonal(lu, 0, 1)
	zero := diagonal.Eq(0)
	exponent := -100.
	if x.DType() == graph.Float64 {
		exponent = -1000
	}
	share := graph.Exp2(graph.Div(exponent, zero.Convert(graph.Int32).Sum().Max(1).Convert(x.DType())))
	unit := graph.StopGradient(graph.Select(zero.Any(), x.Abs().ReduceMax().Max(1e-30), 1))
	parts := diagonal.Div(unit)
	pivot := graph.Select(zero, share.Max(graph.Finfo(x.DType()).Eps), parts)
	t = t.Mul(unit.Pow(float64(x.Dim(0) - 1))) // first, and so last in a gradient, where the product is tiny before
	y := TriangularSolve(lu, graph.Take(t, permutation, 0), UnitDiagonal())
	y = TriangularSolve(graph.Div(lu, unit).Add(graph.Diag(pivot.Sub(parts))), y, UpperTriangle())
	return sign.Mul(diagonal.Prod()), sign.Mul(pivot.Prod()).Mul(Trace(y))
}
