package graph

import (
	"math"
	"slices"
)

// Toeplitz is the matrix whose diagonals are constant, with the first column c and the first row r (default: c), of
// which the first element counts not: vectors [m] and [n] give [m, n].
func Toeplitz(c *Array, r ...*Array) *Array {
	const name = "Toeplitz"
	row := c
	if len(r) > 0 {
		row = r[0]
	}
	if len(r) > 1 || c.Rank() != 1 || row.Rank() != 1 || c.Size() == 0 || row.Size() == 0 {
		throw(name, "got a column %s and a row %s, want one or two vectors of at least one element", c.shape, row.shape)
	}
	a := operandsOnly(c, row)
	m, n := c.Size(), row.Size()
	line := Concatenate(0, Reverse(a[0], 0), SliceAxis(a[1], 0, 1, n)) // along the edge, from below to the right
	s := ShapeOf(Int32, m, n)
	return Take(line, Add(Sub(IotaAxis(s, 1), IotaAxis(s, 0)), m-1), 0)
}

// BlockDiag is the matrix that has the given matrices along its diagonal and zeros elsewhere. Scalars and vectors
// are matrices of one row.
func BlockDiag(blocks ...*Array) *Array {
	if len(blocks) == 0 {
		throw("BlockDiag", "got no matrices")
	}
	d, width := blocks[0].DType(), 0
	rows := make([]*Array, len(blocks))
	for i, b := range blocks {
		for b.Rank() < 2 {
			b = ExpandDims(b, 0)
		}
		if b.Rank() > 2 {
			throw("BlockDiag", "got %s as number %d, want a matrix", b.shape, i)
		}
		rows[i], d, width = b, Promote(d, b.DType()), width+b.Dim(1)
	}
	before := 0
	for i, b := range rows {
		rows[i] = Pad(Convert(b, d), 0, []int{0, before}, []int{0, width - before - b.Dim(1)})
		before += b.Dim(1)
	}
	return Concatenate(0, rows...)
}

// SwapAxes exchanges two axes.
func SwapAxes(x *Array, a, b int) *Array {
	a, b = checkAxis("SwapAxes", a, x.Rank()), checkAxis("SwapAxes", b, x.Rank())
	order := rangeInts(0, x.Rank())
	order[a], order[b] = b, a
	return Transpose(x, order...)
}

// Rot90 turns the first two axes of x by so many right angles, counter-clockwise; negative: clockwise.
func Rot90(x *Array, turns int) *Array {
	if x.Rank() < 2 {
		throw("Rot90", "got %s, want two axes or more", x.shape)
	}
	switch (turns%4 + 4) % 4 {
	case 1:
		return Reverse(SwapAxes(x, 0, 1), 0)
	case 2:
		return Reverse(x, 0, 1)
	case 3:
		return Reverse(SwapAxes(x, 0, 1), 1)
	}
	return x
}

// RavelMultiIndex is the place of an element in an array of the given dims that is laid out row by row, of its index
// along each axis: integer arrays that broadcast. Indices out of range are moved into it. It inverts UnravelIndex. The
// result is int32, or int64 where an index is a 64-bit one or the product of the dims needs it.
func RavelMultiIndex(indices []*Array, dims ...int) *Array {
	const name = "RavelMultiIndex"
	if len(indices) != len(dims) || len(dims) == 0 {
		throw(name, "got %d indices and %d dims, want as many, at least one", len(indices), len(dims))
	}
	if whole := (Shape{DType: Int8, Dims: dims}); slices.Min(dims) < 0 || !whole.countable() {
		throw(name, "got dims %v, want sizes of at least 0 whose product an int64 holds", dims)
	}
	d := Int32
	if product(dims) > math.MaxInt32 ||
		slices.ContainsFunc(indices, func(x *Array) bool { return ItemSize(x.DType()) == 8 }) {
		d = Int64
	}
	at := Full(Shape{DType: d}, 0)
	for i, x := range indices {
		x = widen(IndexArray(name, x), d)
		at = Add(Mul(at, dims[i]), Convert(Clamp(0, x, max(dims[i]-1, 0)), d))
	}
	return at
}

// TrilIndices are the rows and the columns of the elements on and below diagonal k of an n x n matrix, int32
// vectors.
func TrilIndices(n, k int) (rows, columns *Array) {
	return indicesWhere(n, func(i, j int) bool { return j-i <= k })
}

// TriuIndices are the rows and the columns of the elements on and above diagonal k of an n x n matrix, int32
// vectors.
func TriuIndices(n, k int) (rows, columns *Array) {
	return indicesWhere(n, func(i, j int) bool { return j-i >= k })
}

func indicesWhere(n int, in func(i, j int) bool) (rows, columns *Array) {
	r, c := []int32{}, []int32{}
	for i := range n {
		for j := range n {
			if in(i, j) {
				r, c = append(r, int32(i)), append(c, int32(j))
			}
		}
	}
	return Int32s(r), Int32s(c)
}

// IsIn returns whether each element of x is equal to one of the values, an array of any shape.
func IsIn(x, values *Array) *Array {
	a := operandsOnly(x, Flatten1D(values))
	return Any(Eq(ExpandDims(a[0], -1), a[1]), -1)
}
