package graph

// Determinants and norms: plain functions over the factorisations, which bring their derivatives along.

// SlogDet is the sign (-1, 0 or 1, []) and the logarithm of the absolute value ([]) of the determinant of x [n, n],
// which itself would soon overflow. A singular x gives 0 and -Inf. As jax.numpy.linalg.slogdet.
func SlogDet(x *Array) (sign, logAbs *Array) {
	if x = square("SlogDet", x); x.Rank() > 2 {
		return VMap(func(x *Array) Pair[*Array, *Array] { return PairOf(SlogDet(x)) })(x).Unpack()
	}
	diagonal, swaps := luDiagonal(x)
	return Mul(swaps, Prod(StopGradient(Sign(diagonal)))), Sum(Log(Abs(diagonal)))
}

// luDiagonal is the diagonal of the upper factor [n] and the sign of the permutation [].
func luDiagonal(x *Array) (diagonal, sign *Array) {
	lu, pivots, _ := LU(x)
	return Diagonal(lu, 0, 1), swapSign(pivots, x.DType())
}

// swapSign is the sign of the permutation of pivots [n], 1 or -1 [].
func swapSign(pivots *Array, d DType) *Array {
	swaps := Sum(Ne(pivots, Iota(pivots.Size())))
	return Convert(Sub(1, Mul(Rem(swaps, 2), 2)), d)
}

// LogDet is the logarithm of the absolute value of the determinant of x [n, n].
func LogDet(x *Array) *Array {
	_, logAbs := SlogDet(x)
	return logAbs
}

// Det is the determinant of x [n, n]. From n = 4 on its second derivatives need x to be regular, and first derivatives
// of a float32 x of which more than five pivots are exactly 0 are less precise: 5e-5 of the largest for seven, 1e-3 for
// ten. As jax.numpy.linalg.det, whose first derivatives are wrong for some matrices of rank n - 1.
func Det(x *Array) *Array {
	if x = square("Det", x); x.Rank() > 2 {
		return VMap(Det)(x)
	}
	element := func(i, j int) *Array { return Index(Index(x, i), j) }
	minor := func(i, j, k, l int) *Array {
		return Sub(Mul(element(i, j), element(k, l)), Mul(element(i, l), element(k, j)))
	}
	switch x.Dim(0) {
	case 0:
		return Full(Shape{DType: x.DType()}, 1)
	case 1:
		return element(0, 0)
	case 2:
		return minor(0, 0, 1, 1)
	case 3:
		return Add(Sub(Mul(element(0, 0), minor(1, 1, 2, 2)), Mul(element(0, 1), minor(1, 0, 2, 2))),
			Mul(element(0, 2), minor(1, 0, 2, 1)))
	}
	return CustomJvp(func(x *Array) *Array {
		diagonal, sign := luDiagonal(x)
		return Mul(sign, Prod(diagonal))
	}, detTangent)(x)
}

// detTangent is Det of x [n, n] and its derivative along t, by Jacobi's formula det(x) trace(x^-1 t). A pivot that is 0
// counts as one as small as rounding: cofactors are polynomials, so that this changes them by rounding only. Of many,
// it is so large that neither their product nor its inverse leaves the range of the dtype, in units of the largest
// element.
func detTangent(x, t *Array) (*Array, *Array) {
	lu, pivots, permutation := LU(x)
	sign := swapSign(pivots, x.DType())
	diagonal := Diagonal(lu, 0, 1)
	zero := Eq(diagonal, 0)
	exponent := -100.
	if x.DType() == Float64 {
		exponent = -1000
	}
	share := Exp2(Div(exponent, Convert(Max(Sum(Convert(zero, Int32)), 1), x.DType())))
	unit := StopGradient(Select(Any(zero), Max(ReduceMax(Abs(x)), 1e-30), 1))
	parts := Div(diagonal, unit)
	pivot := Select(zero, Max(share, Finfo(x.DType()).Eps), parts)
	t = Mul(t, Pow(unit, float64(x.Dim(0)-1))) // first, and so last in a gradient, where the product is tiny before
	y := TriangularSolve(lu, Take(t, permutation, 0), UnitDiagonal())
	y = TriangularSolve(Add(Div(lu, unit), Diag(Sub(pivot, parts))), y, UpperTriangle())
	return Mul(sign, Prod(diagonal)), Mul(Mul(sign, Prod(pivot)), MatrixTrace(y))
}

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
func MatrixNorm(x *Array, kind NormKind) *Array {
	if x = matrix("MatrixNorm", x); x.Rank() > 2 {
		return VMap(func(x *Array) *Array { return MatrixNorm(x, kind) })(x)
	}
	switch kind {
	case Frobenius:
		return Sqrt(Sum(Square(x)))
	case ColumnSum:
		return ReduceMax(Sum(Abs(x), 0))
	case RowSum:
		return ReduceMax(Sum(Abs(x), 1))
	case Nuclear, Spectral:
		_, s, _ := SVD(x)
		if kind == Spectral {
			return Index(s, 0)
		}
		return Sum(s)
	}
	throw("MatrixNorm", "got the kind %q, want Frobenius, Nuclear, Spectral, ColumnSum or RowSum", kind)
	return nil
}
