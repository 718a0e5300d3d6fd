package graph

import (
	"math"
	"slices"
)

// The compiler for TPUs makes several kernels of a gather, which pack the indices and move the array into another
// layout, and a loop over the lanes of a scatter. A pass over a small array takes less time than these launches. So a
// TPU reads rows of small arrays, and writes one row of each lane, by a select over the whole array.

// selected is the most bytes of the array that is passed over.
const selected = 4 << 20

// mostPlaces is the most places along an axis whose bounds are constants.
const mostPlaces = 1 << 12

// readsOne reports whether an axis of the operand has one element in a window, at a place that the indices give.
func readsOne(a gatherAttrs, axis int, operand Shape) bool {
	return a.Sizes[axis] == 1 && operand.Dims[axis] > 1 && slices.Contains(a.IndexMap, axis)
}

// readsRows reports whether windows are whole along each axis of the operand, or have one element.
func readsRows(a gatherAttrs, operand Shape) bool {
	for axis, size := range a.Sizes {
		if !slices.Contains(a.Batch, axis) && size != 1 && size != operand.Dims[axis] {
			return false
		}
	}
	return true
}

// lowerScatter writes one window of each lane.
func lowerScatter(l *Cursor, n *Node, in []*Array) []*Array {
	a, x, indices := n.Attrs.(gatherAttrs), in[0], in[1]
	lanes := len(a.Batch)
	plain := a.Kind == "set" && lanes > 0 && readsRows(a, x.shape) &&
		product(indices.Dims()[lanes:indices.Rank()-1]) == 1 &&
		slices.Equal(a.Batch, rangeInts(0, lanes)) && slices.Equal(a.IndexBatch, a.Batch) &&
		!slices.ContainsFunc(a.Offset, func(axis int) bool { return axis < lanes })
	if l.target != TargetTPU || !plain || x.shape.Bytes() > selected {
		return nil
	}
	written, block := Full(x.shape.with(Bool), true), slices.Clone(x.Dims())
	place := Int32 // a dtype that holds all indices: an index outside of the array must stay outside
	if ItemSize(indices.DType()) > ItemSize(place) {
		place = indices.DType()
	}
	rows := Reshape(indices, append(slices.Clone(x.Dims()[:lanes]), len(a.IndexMap))...)
	for k, axis := range a.IndexMap {
		at := BroadcastInDim(Convert(indexAt(rows, k), place), x.Dims(), rangeInts(0, lanes))
		if a.Sizes[axis] == 1 {
			written = And(written, Eq(IotaAxis(x.shape.with(place), axis), at))
		} else {
			written = And(written, Eq(at, 0))
		}
	}
	for axis := lanes; axis < x.Rank(); axis++ {
		block[axis] = a.Sizes[axis]
		if a.Sizes[axis] == 1 && !slices.Contains(a.IndexMap, axis) { // it is at 0
			written = And(written, Eq(IotaAxis(x.shape.with(Int32), axis), 0))
		}
	}
	return []*Array{Select(written, BroadcastTo(Reshape(in[2], block...), x.Dims()...), x)}
}

// indexAt returns one of the indices of places, which lie along the last axis. Of a stack of clamped indices it takes
// the one from which the stack was made: the stack would be a kernel, and each part of it another one.
func indexAt(indices *Array, k int) *Array {
	last := indices.Rank() - 1
	if n := indices.node; n != nil && n.Op.Name == "clamp" && stackOf(n.Inputs[1], last) != nil {
		return Clamp(indexAt(n.Inputs[0], k), indexAt(n.Inputs[1], k), indexAt(n.Inputs[2], k))
	}
	if stack := stackOf(indices, last); stack != nil {
		return Squeeze(stack[k], last)
	}
	return Squeeze(SliceAxis(indices, last, k, k+1), last)
}

// clampedTo reports for each place along an axis of size n whether an index, moved into 0 to n-1, is that place.
// Indices of short axes are not clamped, which would be a kernel of its own: the first and the last place take all
// indices beyond them. Float32 numbers that are converted to indices are compared as they are: the conversion would be
// a kernel, too.
func clampedTo(at *Array, axis, n int, dims, axes []int) *Array {
	if at.DType() != Int32 || n > mostPlaces {
		at = BroadcastInDim(at, dims, axes)
		at = Convert(Clamp(ZerosLike(at), at, FullLike(at, n-1)), Int32)
		return Eq(IotaAxis(at.shape, axis), at)
	}
	bound := func(dtype DType, set func(t *Tensor, i int)) *Array {
		t := newTensor(Shape{DType: dtype, Dims: []int{n}})
		for i := range n {
			set(t, i)
		}
		return BroadcastInDim(t.Constant(), dims, []int{axis})
	}
	if x := unconverted(at); x != nil {
		// The conversion drops what is after the point, and makes 0 of NaN.
		x = BroadcastInDim(x, dims, axes)
		last := func(i int) float64 { return float64(math.Nextafter32(float32(i+1), 0)) }
		first := bound(Bool, func(t *Tensor, i int) { t.V[i] = uint64(number(i == 0)) })
		before := bound(Float32, func(t *Tensor, i int) { t.SetF(i, last(i-1)) })
		to := bound(Float32, func(t *Tensor, i int) { t.SetF(i, last(i)) })
		end := bound(Bool, func(t *Tensor, i int) { t.V[i] = uint64(number(i == n-1)) })
		return And(Or(first, Gt(x, before)), Or(end, Not(Gt(x, to))))
	}
	at = BroadcastInDim(at, dims, axes)
	from := bound(Int32, func(t *Tensor, i int) { t.SetI(i, []int64{math.MinInt32, int64(i)}[number(i > 0)]) })
	to := bound(Int32, func(t *Tensor, i int) { t.SetI(i, []int64{math.MaxInt32, int64(i)}[number(i < n-1)]) })
	return And(Ge(at, from), Le(at, to))
}

// unconverted returns the float32 numbers that indices were converted from; nil: there are none. It skips reshapes and
// a maximum with 0: clampedTo takes all below 0 as 0.
func unconverted(at *Array) *Array {
	of := func(x *Array, name string) *Node {
		if x.node == nil || x.node.Op.Name != name {
			return nil
		}
		return x.node
	}
	x := at
	var shapes [][]int
	for {
		if n := of(x, "reshape"); n != nil {
			shapes = append(shapes, x.Dims())
			x = n.Inputs[0]
		} else if n := of(x, "max"); n != nil && isZero(n.Inputs[1]) {
			x = n.Inputs[0]
		} else {
			break
		}
	}
	n := of(x, "convert")
	if n == nil || n.Inputs[0].DType() != Float32 {
		return nil
	}
	x = n.Inputs[0]
	for _, dims := range slices.Backward(shapes) {
		x = Reshape(x, dims...)
	}
	return x
}

// isZero reports whether an array is a constant of zeros, or a broadcast of one.
func isZero(x *Array) bool {
	for x.node != nil && slices.Contains([]string{"broadcast_in_dim", "convert", "reshape"}, x.node.Op.Name) {
		x = x.node.Inputs[0]
	}
	if x.node == nil || x.node.Op.Name != "constant" {
		return false
	}
	zero := x.node.Op.Eval(x.node, nil)[0]
	return !slices.ContainsFunc(zero.V, func(v uint64) bool { return v != 0 })
}

// lowerGather reads windows by a maximum. Along an axis where a window has one element, all elements except the wanted
// one are replaced by the least number. The largest is then the wanted one. Complex numbers have no order, so they are
// gathered.
func lowerGather(l *Cursor, n *Node, in []*Array) []*Array {
	a, x, indices := n.Attrs.(gatherAttrs), in[0], in[1]
	outer := indices.Dims()[:indices.Rank()-1]
	// The array that is passed over has an axis for each axis of the indices, then those of x that are not among them.
	dims, place := slices.Clone(outer), make([]int, x.Rank())
	for axis, d := range x.Dims() {
		if k := slices.Index(a.Batch, axis); k >= 0 {
			place[axis] = a.IndexBatch[k]
		} else {
			place[axis] = len(dims)
			dims = append(dims, d)
		}
	}
	over := Shape{DType: x.DType(), Dims: dims}
	if l.target != TargetTPU || isComplex(x.DType()) || !readsRows(a, x.shape) || over.Bytes() > selected ||
		over.Size() == 0 || !slices.IsSorted(place) {
		return nil
	}
	var reduced []int
	read := Full(over.with(Bool), true)
	for axis := range x.Dims() {
		k := slices.Index(a.IndexMap, axis)
		switch {
		case slices.Contains(a.Batch, axis):
		case readsOne(a, axis, x.shape):
			at := clampedTo(indexAt(indices, k), place[axis], x.Dim(axis), dims, rangeInts(0, len(outer)))
			read = And(read, at)
			reduced = append(reduced, place[axis])
		case a.Sizes[axis] < x.Dim(axis): // at 0 always
			return nil
		}
	}
	if len(reduced) == 0 {
		return nil
	}
	all := BroadcastInDim(x, dims, place)
	lowest := BroadcastTo(reduceKinds["max"].start(x.DType()).Array(), dims...)
	out := ReduceMax(Select(read, all, lowest), reduced...)
	// The window's axes lie behind those of the indices; the result has them at the places of offset.
	rank := len(a.Offset) + len(outer)
	shape, order, next := slices.Clone(outer), make([]int, rank), 0
	for i, axis := range a.Offset {
		shape = append(shape, a.Sizes[gatherWindow(a)[i]])
		order[axis] = len(outer) + i
	}
	for i := range order {
		if !slices.Contains(a.Offset, i) {
			order[i], next = next, next+1
		}
	}
	return []*Array{Transpose(Reshape(out, shape...), order...)}
}
