package graph

import (
	"math"
	"slices"
)

// IndexMode says what happens to indices out of range. In Take, TakeAlongAxis and the row scatters negative indices
// count from the end first (except for WrapIndex), so that those from -n to n-1 are in range.
type IndexMode int

const (
	// ClipIndex moves indices into range: the default when reading.
	ClipIndex IndexMode = iota
	// FillOrDrop reads NaN out of range (the smallest signed integer, the largest unsigned one, true), and drops what
	// would be written there: the default when writing.
	FillOrDrop
	// WrapIndex takes indices modulo the size of the axis.
	WrapIndex
)

// oneMode reads an optional trailing mode.
func oneMode(name string, mode []IndexMode, otherwise IndexMode) IndexMode {
	switch {
	case len(mode) == 0:
		return otherwise
	case len(mode) > 1 || mode[0] < ClipIndex || mode[0] > WrapIndex:
		throw(name, "got index modes %v, want one of ClipIndex, FillOrDrop, WrapIndex", mode)
	}
	return mode[0]
}

// rowIndices reads indices along an axis of n elements.
func rowIndices(name string, indices *Array, n int, mode IndexMode) *Array {
	indices = IndexArray(name, indices)
	switch {
	case mode == WrapIndex:
		return Mod(indices, max(n, 1))
	case isUnsigned(indices.DType()):
		return indices
	}
	return Select(Lt(indices, 0), Add(indices, n), indices)
}

// fillOutside replaces the parts of a gathered array whose index is not inside by the dtype's fill value. inside's axes
// are axes of x.
func fillOutside(x, inside *Array, axes []int) *Array {
	fill := reduceKinds["max"].start(x.DType()).Array() // the smallest integer
	switch d := x.DType(); {
	case isInexact(d):
		fill = Full(Shape{DType: d}, math.NaN())
	case isUnsigned(d) || d == Bool:
		fill = reduceKinds["min"].start(d).Array()
	}
	return Select(BroadcastInDim(inside, x.Dims(), axes), x, fill)
}

// takeNone takes from an empty axis: nothing, or values that fill it. dims are the result's.
func takeNone(name string, x *Array, axis int, indices *Array, dims []int, mode IndexMode) *Array {
	IndexArray(name, indices)
	none := Zeros(x.shape.dims(dims...))
	switch {
	case none.Size() == 0:
		return none
	case mode == FillOrDrop:
		return fillOutside(none, Scalar(false), nil)
	}
	throw(name, "axis %d of %s is empty, so there is nothing for the indices %s to take; FillOrDrop would fill the "+
		"result", axis, x.shape, indices.shape)
	return nil
}

// Take gathers the slices of x at indices along an axis: the axis is replaced by the axes of indices. Negative indices
// count from the end; those out of range are moved into it, unless a mode says otherwise.
func Take(x, indices *Array, axis int, mode ...IndexMode) *Array {
	axis = checkAxis("Take", axis, x.Rank())
	m := oneMode("Take", mode, ClipIndex)
	n := x.shape.Dims[axis]
	if n == 0 {
		return takeNone("Take", x, axis, indices, slices.Concat(x.Dims()[:axis], indices.Dims(), x.Dims()[axis+1:]), m)
	}
	idx := rowIndices("Take", indices, n, m)
	sizes := slices.Clone(x.Dims())
	sizes[axis] = 1
	a := gatherAttrs{Collapsed: []int{axis}, IndexMap: []int{axis}, Sizes: sizes}
	for i := range x.Rank() {
		switch {
		case i < axis:
			a.Offset = append(a.Offset, i)
		case i > axis:
			a.Offset = append(a.Offset, i-1+indices.Rank())
		}
	}
	out := apply1(op("gather"), a, x, ExpandDims(idx, -1))
	if m == FillOrDrop {
		return fillOutside(out, And(Ge(idx, 0), Lt(idx, n)), rangeInts(axis, axis+idx.Rank()))
	}
	return out
}

// TakeAlongAxis picks elements of x along an axis, with one index array for all other axes: x and indices have equal
// rank, and equal dims (or 1 in indices' place) except for the axis. Indices are read as in Take.
func TakeAlongAxis(x, indices *Array, axis int, mode ...IndexMode) *Array {
	axis = checkAxis("TakeAlongAxis", axis, x.Rank())
	if indices.Rank() != x.Rank() {
		throw("TakeAlongAxis", "indices are %s, want the rank of %s", indices.shape, x.shape)
	}
	m := oneMode("TakeAlongAxis", mode, ClipIndex)
	n := x.shape.Dims[axis]
	dims := slices.Clone(x.Dims())
	dims[axis] = indices.shape.Dims[axis]
	indices = BroadcastTo(indices, dims...)
	if n == 0 || product(dims) == 0 {
		return takeNone("TakeAlongAxis", x, axis, indices, dims, m)
	}
	idx := rowIndices("TakeAlongAxis", indices, n, m)
	others := dropAxes(rangeInts(0, x.Rank()), []int{axis})
	a := gatherAttrs{Collapsed: []int{axis}, Batch: others, IndexBatch: others, IndexMap: []int{axis},
		Sizes: slices.Repeat([]int{1}, x.Rank())}
	out := apply1(op("gather"), a, x, ExpandDims(idx, -1))
	if m == FillOrDrop {
		return fillOutside(out, And(Ge(idx, 0), Lt(idx, n)), rangeInts(0, idx.Rank()))
	}
	return out
}

// GatherDims says which windows of an operand Gather reads and Scatter writes. The last axis of the indices holds the
// coordinates of a window's first element. Each operand axis is in exactly one of: Collapsed, Batch, or the window.
type GatherDims struct {
	Window      []int // axes of the result (Gather) or updates (Scatter) that run over the window, in order
	Collapsed   []int // operand axes of window size 1 that the result does not have
	Batch       []int // operand axes that are shared with the indices
	IndexBatch  []int // the same axes in the indices
	Coordinates []int // operand axis of each coordinate
	Sizes       []int // window size along each operand axis
}

func (d GatherDims) attrs() gatherAttrs {
	return gatherAttrs{Offset: slices.Clone(d.Window), Collapsed: slices.Clone(d.Collapsed),
		Batch:      slices.Clone(d.Batch),
		IndexBatch: slices.Clone(d.IndexBatch), IndexMap: slices.Clone(d.Coordinates), Sizes: slices.Clone(d.Sizes)}
}

// Gather reads windows of x at computed places (StableHLO's gather). Windows that would leave x are moved inside
// (ClipIndex, the default) or filled (FillOrDrop). Negative indices do not count from the end here.
func Gather(x, indices *Array, dims GatherDims, mode ...IndexMode) *Array {
	m := oneMode("Gather", mode, ClipIndex)
	if m == WrapIndex {
		throw("Gather", "got WrapIndex, want ClipIndex or FillOrDrop")
	}
	a, idx := dims.attrs(), IndexArray("Gather", indices)
	out := apply1(op("gather"), a, x, idx)
	if m == FillOrDrop {
		inside := All(Eq(idx, clampIndices(a, idx, x.Dims())), -1)
		return fillOutside(out, inside, dropAxes(rangeInts(0, out.Rank()), a.Offset))
	}
	return out
}

// Scatter writes windows of updates into x at computed places (StableHLO's scatter). kind is "set", "sum", "max", "min"
// or "prod"; where several windows are set over each other, one wins. Windows that would leave x are dropped
// (FillOrDrop, the default) or moved inside (ClipIndex). Negative indices do not count from the end here.
func Scatter(kind string, x, indices, updates *Array, dims GatherDims, mode ...IndexMode) *Array {
	if !slices.Contains([]string{"set", "sum", "max", "min", "prod"}, kind) {
		throw("Scatter", "kind %q; want \"set\", \"sum\", \"max\", \"min\" or \"prod\"", kind)
	}
	a, idx := dims.attrs(), IndexArray("Scatter", indices)
	a.Kind = kind
	switch oneMode("Scatter", mode, FillOrDrop) {
	case WrapIndex:
		throw("Scatter", "got WrapIndex, want ClipIndex or FillOrDrop")
	case ClipIndex:
		idx = clampIndices(a, idx, x.Dims())
	}
	return apply1(op("scatter"), a, x, idx, Convert(updates, x.DType()))
}

func scatterRows(name, kind string, x, indices, updates *Array, mode []IndexMode) *Array {
	if x.Rank() == 0 {
		throw(name, "a scalar has no axis to scatter along")
	}
	m := oneMode(name, mode, FillOrDrop)
	want := append(slices.Clone(indices.Dims()), x.Dims()[1:]...)
	if !broadcasts(updates.Dims(), want) {
		throw(name, "got updates %s for %s and indices %s, want %s, or what broadcasts to it", updates.shape, x.shape,
			indices.shape, x.shape.dims(want...))
	}
	if x.Dim(0) == 0 { // every index is out of range
		IndexArray(name, indices)
		return x
	}
	idx := ExpandDims(rowIndices(name, indices, x.shape.Dims[0], m), -1)
	sizes := slices.Clone(x.Dims())
	sizes[0] = 1
	a := gatherAttrs{Offset: rangeInts(indices.Rank(), indices.Rank()+x.Rank()-1), Collapsed: []int{0}, IndexMap: []int{
		0}, Sizes: sizes, Kind: kind}
	if m == ClipIndex {
		idx = clampIndices(a, idx, x.Dims())
	}
	return apply1(op("scatter"), a, x, idx, BroadcastTo(Convert(updates, x.DType()), want...))
}

// ScatterAdd adds updates[i] to x[indices[i]], along axis 0; repeated indices add up. Negative indices count from the
// end; those out of range are dropped, unless a mode says otherwise. Updates broadcast.
func ScatterAdd(x, indices, updates *Array, mode ...IndexMode) *Array {
	return scatterRows("ScatterAdd", "sum", x, indices, updates, mode)
}

// ScatterSet writes updates[i] over x[indices[i]]; of repeated indices one wins. Indices are read as in ScatterAdd.
func ScatterSet(x, indices, updates *Array, mode ...IndexMode) *Array {
	return scatterRows("ScatterSet", "set", x, indices, updates, mode)
}

// ScatterMax takes the larger of x[indices[i]] and updates[i]. Indices are read as in ScatterAdd.
func ScatterMax(x, indices, updates *Array, mode ...IndexMode) *Array {
	return scatterRows("ScatterMax", "max", x, indices, updates, mode)
}

// ScatterMin takes the smaller of x[indices[i]] and updates[i]. Indices are read as in ScatterAdd.
func ScatterMin(x, indices, updates *Array, mode ...IndexMode) *Array {
	return scatterRows("ScatterMin", "min", x, indices, updates, mode)
}

// ScatterMul multiplies x[indices[i]] by updates[i]. Indices are read as in ScatterAdd.
func ScatterMul(x, indices, updates *Array, mode ...IndexMode) *Array {
	return scatterRows("ScatterMul", "prod", x, indices, updates, mode)
}
