package qd

import "xlarun/graph"

// mostObjectives bounds the objectives of a hypervolume, whose work grows with the number of points to the power of the
// objectives less one.
const mostObjectives = 4

// hypervolume returns the volume that points, f32[n, k], dominate above a reference point, f32[k]: f32[]. It is exact.
// A point with -Inf does not count.
//
// It sums slices along the last objective, from one point to the next lower one: while that one counts, all points that
// reach higher do (hypervolume by slicing objectives, While et al., "A faster algorithm for calculating hypervolume",
// 2006).
func hypervolume(points, reference *graph.Array) *graph.Array {
	return sliced(points.Sub(reference.ExpandDims(0)).Max(0))
}

// sliced is hypervolume with the reference point at 0, of points that are not negative.
func sliced(points *graph.Array) *graph.Array {
	n, k := points.Dim(0), points.Dim(1)
	if k == 1 {
		return points.ReduceMax()
	}
	columns := make([]*graph.Array, k)
	for i := range k {
		columns[i] = graph.SliceAxis(points, 1, i, i+1).Squeeze(1)
	}
	sorted := graph.SortKV(append(columns[k-1:k:k], columns[:k-1]...), 0, 1, graph.Descending())
	height := sorted[0]
	next := graph.Concatenate(0, graph.SliceAxis(height, 0, 1, n), graph.Zeros(graph.ShapeOf(graph.Float32, 1)))
	rest := graph.Stack(sorted[1:], 1)
	var areas *graph.Array // of the points so far, in the other objectives
	if k == 2 {
		areas = graph.CumMax(rest.Squeeze(1), 0)
	} else {
		areas = graph.VMap(func(last *graph.Array) *graph.Array {
			so := graph.Iota(n).Le(last).ExpandDims(1)
			return sliced(graph.Select(so, rest, graph.ZerosLike(rest)))
		})(graph.Iota(n))
	}
	return areas.Mul(height.Sub(next)).Sum()
}
