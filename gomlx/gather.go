package gomlx

import (
	"slices"

	"github.com/gomlx/compute"

	"xlarun/graph"
)

func (f *Function) Gather(x, indices compute.Value, vectorAxis int, offsets, collapsed, indexMap, sizes []int,
	_ bool) (compute.Value, error) {
	dims := graph.GatherDims{Window: offsets, Collapsed: collapsed, Coordinates: indexMap, Sizes: sizes}
	return f.one(compute.OpTypeGather, func(x []*graph.Array) *graph.Array {
		return graph.Gather(x[0], vectorsLast(x[1], vectorAxis), dims)
	}, x, indices)
}

// vectorsLast moves the axis of the coordinates to the end. An axis after the last one means single coordinates.
func vectorsLast(indices *graph.Array, axis int) *graph.Array {
	if axis == indices.Rank() {
		return indices.ExpandDims(-1)
	}
	return indices.MoveAxis(axis, -1)
}

func (f *Function) ScatterSum(x, indices, updates compute.Value, vectorAxis int, window, inserted, indexMap []int,
	_, _ bool) (compute.Value, error) {
	return f.scatter(compute.OpTypeScatterSum, "sum", x, indices, updates, vectorAxis, window, inserted, indexMap)
}

func (f *Function) ScatterMax(x, indices, updates compute.Value, vectorAxis int, window, inserted, indexMap []int,
	_, _ bool) (compute.Value, error) {
	return f.scatter(compute.OpTypeScatterMax, "max", x, indices, updates, vectorAxis, window, inserted, indexMap)
}

func (f *Function) ScatterMin(x, indices, updates compute.Value, vectorAxis int, window, inserted, indexMap []int,
	_, _ bool) (compute.Value, error) {
	return f.scatter(compute.OpTypeScatterMin, "min", x, indices, updates, vectorAxis, window, inserted, indexMap)
}

func (f *Function) scatter(op compute.OpType, kind string, x, indices, updates compute.Value, vectorAxis int, window,
	inserted, indexMap []int) (compute.Value, error) {
	return f.one(op, func(in []*graph.Array) *graph.Array {
		x, updates := in[0], in[2]
		if x.Rank() != len(window)+len(inserted) {
			graph.Throw(op.String(), "got %d axes of windows and %d inserted ones for %s", len(window), len(inserted),
				x.Shape())
		}
		dims := graph.GatherDims{Window: window, Collapsed: inserted, Coordinates: indexMap}
		next := 0
		for axis := range x.Rank() {
			size := 1
			if !slices.Contains(inserted, axis) {
				size = updates.Dim(window[next])
				next++
			}
			dims.Sizes = append(dims.Sizes, size)
		}
		return graph.Scatter(kind, x, vectorsLast(in[1], vectorAxis), updates, dims)
	}, x, indices, updates)
}

// separate returns starts as scalars. They may also come in one vector.
func separate(starts []*graph.Array) []*graph.Array {
	if len(starts) == 1 && starts[0].Rank() == 1 {
		return graph.Unstack(starts[0], 0)
	}
	return starts
}

func (f *Function) DynamicSlice(x compute.Value, starts []compute.Value, sizes []int) (compute.Value, error) {
	return f.one(compute.OpTypeDynamicSlice, func(x []*graph.Array) *graph.Array {
		return graph.DynamicSlice(x[0], separate(x[1:]), sizes)
	}, append([]compute.Value{x}, starts...)...)
}

func (f *Function) DynamicUpdateSlice(x, update compute.Value, starts []compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeDynamicUpdateSlice, func(x []*graph.Array) *graph.Array {
		return graph.DynamicUpdateSlice(x[0], x[1], separate(x[2:]))
	}, append([]compute.Value{x, update}, starts...)...)
}
