package graph

import (
	"math"
	"slices"
)

// Results whose number depends on values: their size is given, so that shapes stay fixed.

// UniqueValues is what Unique finds.
type UniqueValues struct {
	Values  *Array // [size], ascending
	Indices *Array // [size] int32: where each value stands first, in the elements' order
	Counts  *Array // [size] int32: how often; 0 for what is filled up
	Inverse *Array // x's dims, int32: the place in Values of each element; size or more where it was not kept
	Number  *Array // int32 scalar: how many different values there are, kept or not
}

// Unique finds the different elements of x (any shape), ascending, up to so many; NaN is one of them, the last. Where
// there are fewer, Values goes on with the smallest one, or with fill.
func Unique(x *Array, size int, fill ...any) UniqueValues {
	n := x.Size()
	if len(fill) > 1 || size < 0 || size > math.MaxInt32 || n == 0 && len(fill) == 0 {
		throw("Unique", "got a size of %d and %d values to fill up with for %s; want a size from 0 to %d and one "+
			"value or none, one for an empty array", size, len(fill), x.shape, math.MaxInt32)
	}
	if n == 0 {
		zeros := Zeros(ShapeOf(Int32, size))
		return UniqueValues{Full(ShapeOf(x.DType(), size), fill[0]), zeros, zeros, Zeros(x.shape.with(Int32)),
			Scalar(0, Int32)}
	}
	sorted := SortKV([]*Array{Flatten1D(x), Iota(n)}, 0, 1)
	s, order := sorted[0], sorted[1]
	before := Concatenate(0, SliceAxis(s, 0, 0, 1), SliceAxis(s, 0, 0, n-1))
	fresh := Ne(s, before)
	if isFloat(s.DType()) {
		fresh = And(fresh, Not(And(IsNaN(s), IsNaN(before))))
	}
	fresh = Or(fresh, Eq(Iota(n), 0))
	id := Sub(CumSum(Convert(fresh, Int32), 0), 1)
	number := Add(index(id, 0, n-1), 1)
	start := Zeros(ShapeOf(Int32, size))
	if size > 0 {
		start = ScatterSet(start, Select(fresh, id, size), Iota(n))
	}
	out := UniqueValues{
		Values:  Take(s, start, 0),
		Indices: Take(order, start, 0),
		Counts:  SegmentSum(Ones(ShapeOf(Int32, n)), id, size),
		Inverse: Reshape(ScatterSet(Zeros(ShapeOf(Int32, n)), order, id), x.Dims()...),
		Number:  number,
	}
	if len(fill) == 1 {
		out.Values = Select(Lt(Iota(size), number), out.Values, Full(Shape{DType: x.DType()}, fill[0]))
	}
	return out
}

// Nonzero gives the places of the first so many elements of x that are not zero (true, NaN), in row-major order: one
// int32 vector [size] for each axis of x. Where there are fewer it goes on with 0, or with fill.
func Nonzero(x *Array, size int, fill ...int) []*Array {
	if x.Rank() == 0 || size < 0 || size > math.MaxInt32 || len(fill) > 1 {
		throw("Nonzero", "got %s, a size of %d and %d values to fill up with; want at least one axis, a size from 0 "+
			"to %d and one value or none", x.shape, size, len(fill), math.MaxInt32)
	}
	if size == 0 {
		return slices.Repeat([]*Array{Zeros(ShapeOf(Int32, 0))}, x.Rank())
	}
	with := 0
	if len(fill) == 1 {
		if with = fill[0]; with < math.MinInt32 || with > math.MaxInt32 {
			throw("Nonzero", "got %d to fill up with, want a number that fits in an int32", with)
		}
	}
	on := Flatten1D(Ne(x, 0))
	n := x.Size()
	rank := Sub(CumSum(Convert(on, Int32), 0), 1)
	flat := ScatterSet(Full(ShapeOf(Int32, size), n), Select(on, rank, size), Iota(n))
	out := UnravelIndex(flat, x.Dims()...)
	for i := range out {
		out[i] = Select(Lt(flat, n), out[i], with)
	}
	return out
}

// UnravelIndex turns indices into the flattened elements of an array of the given dims into one index for each axis.
// Negative ones count from the end, those out of range are moved into it.
func UnravelIndex(i *Array, dims ...int) []*Array {
	if !isInt(i.DType()) || len(dims) == 0 {
		throw("UnravelIndex", "got indices %s and dims %v; want integers and at least one axis", i.shape, dims)
	}
	i = IndexArray("UnravelIndex", i)
	most := math.MaxInt32
	if ItemSize(i.DType()) == 8 {
		most = math.MaxInt64
	}
	n := product(dims)
	if whole := (Shape{DType: Int8, Dims: dims}); slices.Min(dims) < 0 || !whole.countable() || n > most {
		throw("UnravelIndex", "got dims %v for indices %s, want sizes of at least 0 whose product is an index", dims,
			i.shape)
	}
	if !isUnsigned(i.DType()) {
		i = Max(Select(Lt(i, 0), Add(i, n), i), 0)
	}
	i = Min(i, max(n-1, 0))
	out := make([]*Array, len(dims))
	for axis := len(dims) - 1; axis >= 0; axis-- {
		if d := max(dims[axis], 1); axis > 0 {
			out[axis], i = Rem(i, d), Quo(i, d)
		} else {
			out[axis] = i
		}
	}
	return out
}
