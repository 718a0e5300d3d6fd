package graph

import (
	"math"
	"slices"
)

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
