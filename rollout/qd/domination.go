package qd

import (
	"math"

	"xlarun/graph"
)

// dominates reports whether a is at least as good as b in every objective and better in one. The objectives are along
// the last axis, which the result does not have.
func dominates(a, b *graph.Array) *graph.Array {
	last := a.Rank() - 1
	return a.Ge(b).All(last).And(a.Gt(b).Any(last))
}

// domination returns for each point, f32[n, k], the number of its front: i32[n]. Front 0 has the non-dominated
// points, front 1 those that only points of front 0 dominate, and so on (non-dominated sorting of Deb et al., "A
// fast and elitist multiobjective genetic algorithm: NSGA-II", 2002). Points beyond the first enough ones may all have
// the next number.
func domination(points *graph.Array, enough int) *graph.Array {
	n := points.Dim(0)
	// by[i, j]: point j dominates point i.
	by := graph.Once(dominates(points.ExpandDims(0), points.ExpandDims(1)).Convert(graph.Float32))
	type fronts struct {
		Front *graph.Array // i32[n]
		Left  *graph.Array // f32[n]: 1 of a point that has no front yet
		Next  *graph.Array // i32[]
	}
	zero := graph.Zeros(graph.ShapeOf(graph.Int32, n))
	end := graph.While(func(f fronts) *graph.Array { return f.Left.Sum().Gt(n - enough) }, func(f fronts) fronts {
		front := f.Left.Gt(0).And(graph.Dot(by, f.Left).Eq(0))
		left := graph.Select(front, 0., f.Left)
		return fronts{graph.Select(left.Gt(0), f.Next.Add(1), f.Front), left, f.Next.Add(1)}
	}, fronts{zero, graph.Ones(graph.ShapeOf(graph.Float32, n)), graph.Scalar(0, graph.Int32)})
	return end.Front
}

// crowding returns the crowding distance of each point, f32[n, k], within its front, i32[n]: the sum over the
// objectives of the distance between its neighbors on both sides, in the width of the front; infinite for the ends of
// a front (Deb et al., 2002, section III.B). Of an objective in which all are equal the distance is 0.
func crowding(points, front *graph.Array) *graph.Array {
	n := points.Dim(0)
	sum := graph.Zeros(graph.ShapeOf(graph.Float32, n))
	for i := range points.Dim(1) {
		value := graph.SliceAxis(points, 1, i, i+1).Squeeze(1)
		sorted := graph.SortKV([]*graph.Array{front, value, graph.Iota(n)}, 0, 2)
		of, x, number := sorted[0], sorted[1], sorted[2]
		x = graph.Select(x.IsFinite(), x, 0.) // places without a member: their differences would be NaN
		place := graph.Iota(n)
		before, after := place.Sub(1).Max(0), place.Add(1).Min(n-1)
		same := func(at *graph.Array) *graph.Array { return graph.Take(of, at, 0).Eq(of).And(at.Ne(place)) }
		inside := same(before).And(same(after))
		gap := graph.Take(x, after, 0).Sub(graph.Take(x, before, 0))
		width := widest(of, x, n)
		distance := graph.Select(inside, gap.Div(graph.Select(width.Gt(0), width, 1.)), math.Inf(1))
		sum = sum.Add(graph.ScatterSet(graph.ZerosLike(sum), number, distance))
	}
	return graph.Select(sum.IsNaN(), 0., sum) // of differences that overflow
}

// widest returns for each of the sorted points the difference between the greatest and the least value of its front.
func widest(front, value *graph.Array, n int) *graph.Array {
	none := graph.ShapeOf(graph.Float32, n)
	greatest := graph.ScatterMax(graph.Full(none, math.Inf(-1)), front, value)
	least := graph.ScatterMin(graph.Full(none, math.Inf(1)), front, value)
	return graph.Take(greatest.Sub(least), front, 0)
}
