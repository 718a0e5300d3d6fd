package graph

import "slices"

// Roll moves the elements so many places up along an axis (down if negative); those that leave at one end come in at
// the other.
func Roll(x *Array, places, axis int) *Array {
	axis = checkAxis("Roll", axis, x.Rank())
	n := x.shape.Dims[axis]
	if n == 0 {
		return x
	}
	cut := n - (places%n+n)%n
	if cut == n {
		return x
	}
	return Concatenate(axis, SliceAxis(x, axis, cut, n), SliceAxis(x, axis, 0, cut))
}

// Tile repeats the whole of x so many times along each axis; missing leading axes of x count as size 1, missing
// leading repeats as 1.
func Tile(x *Array, repeats ...int) *Array {
	for _, r := range repeats {
		if r < 0 {
			throw("Tile", "got repeats %v, want at least 0", repeats)
		}
	}
	for x.Rank() < len(repeats) {
		x = ExpandDims(x, 0)
	}
	repeats = append(slices.Repeat([]int{1}, x.Rank()-len(repeats)), repeats...)
	wide, dims := make([]int, 0, 2*x.Rank()), make([]int, x.Rank())
	axes := make([]int, x.Rank())
	for i, d := range x.Dims() {
		wide, axes[i], dims[i] = append(wide, repeats[i], d), 2*i+1, repeats[i]*d
	}
	return Reshape(BroadcastInDim(x, wide, axes), dims...)
}

// Repeat repeats each element n times along an axis: 1, 1, 2, 2, ….
func Repeat(x *Array, n, axis int) *Array {
	axis = checkAxis("Repeat", axis, x.Rank())
	if n < 0 {
		throw("Repeat", "got %d, want at least 0", n)
	}
	dims := slices.Clone(x.Dims())
	dims[axis] *= n
	axes := append(rangeInts(0, axis+1), rangeInts(axis+2, x.Rank()+1)...)
	return Reshape(BroadcastInDim(x, x.shape.insert(axis+1, n).Dims, axes), dims...)
}

// Outer is numpy.outer: the product of every element of x with every element of y, [x.Size(), y.Size()]. Arrays of
// several axes are flattened; Tensordot(x, y, 0) keeps their axes.
func Outer(x, y *Array) *Array { return Mul(Reshape(x, -1, 1), Reshape(y, 1, -1)) }

// Diag makes a matrix of zeros with the vector x on a diagonal. An offset of k means the diagonal k places above the
// main one, below it if k is negative. As jax.numpy.diag of a vector.
func Diag(x *Array, offset ...int) *Array {
	if x.Rank() != 1 {
		throw("Diag", "got %s, want a vector (Diagonal takes the diagonal of a matrix)", x.shape)
	}
	if len(offset) > 1 {
		throw("Diag", "got %d offsets, want one or none", len(offset))
	}
	m := Select(Eye(Bool, x.Size()), x, Full(Shape{DType: x.DType()}, 0))
	if len(offset) == 0 || offset[0] == 0 {
		return m
	}
	above, below := max(0, offset[0]), max(0, -offset[0])
	return Pad(m, 0, []int{below, above}, []int{above, below})
}

// Diff is each element less the one before it along an axis, which is one shorter.
func Diff(x *Array, axis int) *Array {
	axis = checkAxis("Diff", axis, x.Rank())
	n := x.shape.Dims[axis]
	if n == 0 {
		throw("Diff", "axis %d of %s is empty", axis, x.shape)
	}
	return Sub(SliceAxis(x, axis, 1, n), SliceAxis(x, axis, 0, n-1))
}

// SplitAxis returns x with one axis as several: SplitAxis(x, 0, 4, 8) of f32[32, 3] is f32[4, 8, 3]. The product of the
// sizes is the size of the axis.
func SplitAxis(x *Array, axis int, sizes ...int) *Array {
	axis = checkAxis("SplitAxis", axis, x.Rank())
	if product(sizes) != x.Dim(axis) || slices.ContainsFunc(sizes, func(n int) bool { return n < 0 }) {
		throw("SplitAxis", "got sizes %v for axis %d of %s, want sizes whose product is %d", sizes, axis, x.Shape(),
			x.Dim(axis))
	}
	return Reshape(x, slices.Concat(x.Dims()[:axis], sizes, x.Dims()[axis+1:])...)
}

// MergeAxes returns x with n axes from first on as one: MergeAxes(x, 0, 2) of f32[4, 8, 3] is f32[32, 3].
func MergeAxes(x *Array, first, n int) *Array {
	first = checkAxis("MergeAxes", first, x.Rank())
	if n < 1 || first+n > x.Rank() {
		throw("MergeAxes", "got %d axes from axis %d of %s, want at least 1 and at most %d", n, first, x.Shape(),
			x.Rank()-first)
	}
	size := product(x.Dims()[first : first+n])
	return Reshape(x, slices.Concat(x.Dims()[:first], []int{size}, x.Dims()[first+n:])...)
}
