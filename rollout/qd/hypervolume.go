package qd

import (
	"math"

	"xlarun/graph"
)

// mostObjectives bounds the objectives of a hypervolume, whose work grows with the number of points to the power of the
// objectives less one.
const mostObjectives = 4

// mostHypervolumeWork bounds that work: more takes over five seconds in each generation, on a core.
const mostHypervolumeWork = 1 << 33

// hypervolumeWork returns the elements that the hypervolume of n points with k objectives computes.
func hypervolumeWork(n, k int) float64 { return math.Pow(float64(n), float64(max(1, k-1))) }

// hypervolumeBytes returns the memory that the hypervolume of n points with k objectives takes.
func hypervolumeBytes(n, k int) int64 {
	bytes := 4 * int64(n) * int64(4*k)
	if k > 3 {
		bytes *= int64(n) // all slices at once
	}
	return bytes
}

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
	height, rest := sorted[0], sorted[1:]
	var areas *graph.Array // of the points so far, in the other objectives
	switch k {
	case 2:
		areas = graph.CumMax(rest[0], 0)
	case 3:
		areas = areasBelow(height, rest[0], rest[1])
	default:
		others := graph.Stack(rest, 1)
		areas = graph.VMap(func(last *graph.Array) *graph.Array {
			counts := graph.Iota(n).Le(last).ExpandDims(1)
			return sliced(graph.Select(counts, others, graph.ZerosLike(others)))
		})(graph.Iota(n))
	}
	return areas.Mul(height.Sub(lower(height))).Sum()
}

// lower returns for each of some sorted values the next lower one, 0 for the last: f32[n].
func lower(x *graph.Array) *graph.Array {
	return graph.Concatenate(0, graph.SliceAxis(x, 0, 1, x.Dim(0)), graph.Zeros(graph.ShapeOf(graph.Float32, 1)))
}

// sweep is the carry of the loop over points from the highest one down.
type sweep struct {
	Turn   *graph.Array // i32[]
	Strips *graph.Array // f32[n]: how far y the points so far reach, in each strip between two neighboring x
	Areas  *graph.Array // f32[n]: that the points up to each one dominate
}

// areasBelow returns for each point the area that it and the points before it dominate in x and y: f32[n].
// height, f32[n], falls. The loop ends at the first point of height 0: empty places come last. All points at once would
// take as much memory as there are pairs of points.
func areasBelow(height, x, y *graph.Array) *graph.Array {
	edge := graph.Once(graph.SortKV([]*graph.Array{x}, 0, 1, graph.Descending())[0])
	width := graph.Once(edge.Sub(lower(edge)))
	points := height.Gt(0).Convert(graph.Int32).Sum()
	zero := graph.ZerosLike(height)
	return graph.While(func(c sweep) *graph.Array { return c.Turn.Lt(points) }, func(c sweep) sweep {
		reaches := edge.Le(graph.Take(x, c.Turn, 0))
		strips := c.Strips.Max(graph.Select(reaches, graph.Take(y, c.Turn, 0), 0.))
		area := strips.Mul(width).Sum()
		return sweep{c.Turn.Add(1), strips, graph.DynamicUpdateIndex(c.Areas, area, c.Turn, 0)}
	}, sweep{graph.Scalar(0, graph.Int32), zero, zero}).Areas
}
