package graph

import "slices"

// Linear algebra. Functions take a matrix, or many with leading axes, float32 or float64; integers become float32. What
// a compiler offers on every backend (Cholesky, triangular solve) is emitted as such; the other factorisations are
// written as ordinary array programs, which replace their op when it is lowered. Each op has its
// derivative in closed form, so that no derivative goes through the loops of a factorisation.

// Linalg has the ops that package linalg consists of. Their rules call each other; users call linalg.
var Linalg linalgOps

type linalgOps struct{}

// Matrix checks the operand of a linear algebra function: two axes or more, real numbers of a precision that is enough.
func (linalgOps) Matrix(name string, x *Array) *Array {
	if x == nil {
		throw(name, "got a nil *Array")
	}
	if x.Rank() < 2 {
		throw(name, "got %s, want a matrix, or several with leading axes", x.shape)
	}
	return linalgFloat(name, x)
}

// SquareMatrix is Matrix of one with as many rows as columns.
func (linalgOps) SquareMatrix(name string, x *Array) *Array {
	if x = Linalg.Matrix(name, x); x.Dim(-1) != x.Dim(-2) {
		throw(name, "got %s, want a square matrix", x.shape)
	}
	return x
}

func linalgFloat(name string, x *Array) *Array {
	switch d := x.DType(); {
	case isComplex(d):
		throw(name, "got %s, and there is no form for complex numbers", x.shape)
	case !isFloat(d):
		return Convert(x, Float32)
	case ItemSize(d) == 2:
		throw(name, "got %s, whose precision is too low for it: convert it to float32", x.shape)
	}
	return x
}

// checkMatrices is the part that the Shape rules share: n float32 or float64 inputs of one dtype and at least two axes,
// alike in the axes in front of the last two.
func checkMatrices(c *call, in ...Shape) {
	for i, s := range in {
		if s.DType != Float32 && s.DType != Float64 || s.DType != in[0].DType {
			c.fail("input %d is %s, want float32 or float64, the same for all", i, s)
		}
		if s.Rank() < 2 {
			c.fail("input %d is %s, want a matrix, or several with leading axes", i, s)
		}
		if !slices.Equal(s.Dims[:s.Rank()-2], in[0].Dims[:in[0].Rank()-2]) {
			c.fail("inputs %s and %s differ in their leading axes", in[0], s)
		}
	}
}

func checkSquare(c *call, s Shape) {
	if n := s.Rank(); s.Dims[n-1] != s.Dims[n-2] {
		c.fail("got %s, want square matrices", s)
	}
}

// applyMatrices applies an op of matrices. If one of them has no element, no result has one, and nothing is computed.
func applyMatrices(op *Op, attrs any, in ...*Array) []*Array {
	if !slices.ContainsFunc(in, func(x *Array) bool { return x.Size() == 0 }) {
		return apply(op, attrs, in)
	}
	var outs []*Array
	for _, s := range op.Shape(&call{op: op, attrs: attrs, in: ShapesOf(in), inputs: in}) {
		outs = append(outs, Zeros(s))
	}
	return outs
}

// matrixDims is s with other dims for its last two axes (or fewer, or more).
func matrixDims(s Shape, dims ...int) Shape {
	return s.dims(append(slices.Clone(s.Dims[:s.Rank()-2]), dims...)...)
}

// eachMatrix applies a function of single matrices under the given number of leading axes, which all inputs share.
func eachMatrix(leading int, in []*Array, f func(in []*Array) []*Array) []*Array {
	if leading == 0 {
		return f(in)
	}
	batch := in[0].Dims()[:leading]
	flat := make([]*Array, len(in))
	for i, x := range in {
		flat[i] = Reshape(x, append([]int{product(batch)}, x.Dims()[leading:]...)...)
	}
	outs := VMap(f)(flat)
	for i, o := range outs {
		outs[i] = Reshape(o, append(slices.Clone(batch), o.Dims()[1:]...)...)
	}
	return outs
}

// batchMatrices is the vmap rule of ops that leave leading axes alone.
func batchMatrices(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	return applyMatrices(n.Op, n.Attrs, b.front(in, dims)...), make([]int, len(n.Outs))
}

// MatrixTranspose exchanges the last two axes.
func MatrixTranspose(x *Array) *Array {
	if x.Rank() < 2 {
		throw("MatrixTranspose", "got %s, want at least two axes", x.shape)
	}
	perm := rangeInts(0, x.Rank())
	slices.Reverse(perm[x.Rank()-2:])
	return Transpose(x, perm...)
}

// Tril keeps the elements of the last two axes on and below diagonal k (0: the main one, positive: above it) and makes
// the others zero.
func Tril(x *Array, k int) *Array {
	row, col := matrixIndices("Tril", x)
	return Select(Ge(Add(row, diagonalOf(x, k)), col), x, ZerosLike(x))
}

// Triu keeps the elements of the last two axes on and above diagonal k and makes the others zero.
func Triu(x *Array, k int) *Array {
	row, col := matrixIndices("Triu", x)
	return Select(Le(Add(row, diagonalOf(x, k)), col), x, ZerosLike(x))
}

// diagonalOf is the number of diagonal k of x, or of one beside all elements that does the same and cannot overflow.
func diagonalOf(x *Array, k int) int32 { return int32(min(max(k, -x.Dim(-2)), x.Dim(-1))) }

func matrixIndices(name string, x *Array) (row, col *Array) {
	if x.Rank() < 2 {
		throw(name, "got %s, want at least two axes", x.shape)
	}
	s := x.shape.with(Int32)
	return IotaAxis(s, s.Rank()-2), IotaAxis(s, s.Rank()-1)
}

// symmetric is the symmetric part of a matrix.
func symmetric(x *Array) *Array { return Mul(Add(x, MatrixTranspose(x)), .5) }

// canonicalSigns gives for each column of v [m, n] the sign, 1 or -1 [n], that makes the first of its large elements
// (at least half the largest one) positive. Factorisations whose columns are determined up to sign are made unique by
// it: the interpreter, every backend and every run agree. Half the largest, because ties between largest elements are
// common in symmetric problems and would be broken by rounding.
func canonicalSigns(v *Array) *Array {
	size := Abs(v)
	large := Ge(size, Mul(ReduceMax(size, 0), .5))
	first := ArgMax(Convert(large, Int32), 0)
	lead := Squeeze(TakeAlongAxis(v, ExpandDims(first, 0), 0), 0)
	return Select(Lt(lead, 0), FullLike(lead, -1), OnesLike(lead))
}

// scaleOf is the power of two [] in x's dtype just below its largest magnitude; 1 for zeros and where it is not finite.
// Squares of scaled elements neither overflow nor vanish, and scaling by it loses no digit.
func scaleOf(x *Array) *Array {
	top := ReduceMax(Abs(x))
	exponent := any(uint32(0x7f800000))
	if x.DType() == Float64 {
		exponent = uint64(0x7ff0000000000000)
	}
	unsigned := map[DType]DType{Float32: Uint32, Float64: Uint64}[x.DType()]
	scale := Bitcast(And(Bitcast(top, unsigned), exponent), x.DType())
	return Select(And(IsFinite(top), Gt(scale, 0)), scale, OnesLike(scale))
}
