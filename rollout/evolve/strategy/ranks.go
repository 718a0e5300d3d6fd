package strategy

import (
	"math"

	"xlarun/graph"
)

// fewRanks is the largest population in which every pair is compared. That compiles faster than a sort.
const fewRanks = 256

// CenteredRanks maps fitness, f32[population], to its rank in [-0.5, 0.5], the best at +0.5. Equal ones share the mean
// of their ranks; NaN is the worst.
func CenteredRanks(fitness *graph.Array) *graph.Array {
	n := fitness.Dim(0)
	if n < 2 {
		return graph.ZerosLike(fitness)
	}
	twice := twiceRanks(fitness).Convert(graph.Float32)
	return twice.Div(float32(2 * (n - 1))).Sub(float32(.5))
}

// twiceRanks returns twice each rank from 0, the worst, i32[n]: equal ones share the mean of their ranks, NaN is the
// worst.
func twiceRanks(fitness *graph.Array) *graph.Array {
	rank := ranksBySort
	if fitness.Dim(0) <= fewRanks {
		rank = ranksByPairs
	}
	return rank(WorstIfNaN(fitness))
}

// ranksByPairs returns twice each rank from 0, i32[n], by n² comparisons: a lower member counts 2, an equal one 1.
func ranksByPairs(f *graph.Array) *graph.Array {
	row, column := f.ExpandDims(0), f.ExpandDims(1)
	below := column.Lt(row).Convert(graph.Int32)
	notAbove := column.Le(row).Convert(graph.Int32)
	return below.Add(notAbove).Sum(0).Sub(1) // itself is among the equal ones
}

// ranksBySort returns the same. It counts the members below each one, and those not above it, by bisection of the
// sorted list.
func ranksBySort(f *graph.Array) *graph.Array {
	n := f.Dim(0)
	sorted := graph.Sort(f, 0)
	var strides []int32 // powers of two, from the largest that is at most n
	for s := int32(1); int(s) <= n; s *= 2 {
		strides = append([]int32{s}, strides...)
	}
	type counts struct{ Below, NotAbove *graph.Array }
	zero := graph.Zeros(graph.ShapeOf(graph.Int32, n))
	end, _ := graph.Scan(func(c counts, stride *graph.Array) (counts, graph.None) {
		step := func(count *graph.Array, before func(x, y any) *graph.Array) *graph.Array {
			next := count.Add(stride)
			value := graph.Take(sorted, next.Sub(1).Min(n-1), 0)
			return graph.Select(next.Le(n).And(before(value, f)), next, count)
		}
		return counts{step(c.Below, graph.Lt), step(c.NotAbove, graph.Le)}, graph.None{}
	}, counts{zero, zero}, graph.Int32s(strides))
	return end.Below.Add(end.NotAbove).Sub(1)
}

// LogWeights returns the weights with which the best members, the parents, are recombined (Hansen, "The CMA evolution
// strategy: a tutorial", 2016): f32[population], proportional to log(parents + 1/2) - log(rank), rank 1 for the best,
// of sum 1; 0 for the others. Of equal members the first are better; NaN is the worst.
func LogWeights(fitness *graph.Array, parents int) *graph.Array {
	order := graph.ArgSort(WorstIfNaN(fitness).Neg(), 0)
	rank := graph.ArgSort(order, 0).Convert(graph.Float32).Add(1)
	weights := graph.Sub(float32(math.Log(float64(parents)+.5)), rank.Log()).Max(0)
	return weights.Div(weights.Sum())
}

// best returns the members of highest fitness in order, i32[count], earlier ones first among equals. found, bool[], is
// true if any fitness is a number. Members with NaN are left out; if too few are left, these repeat.
func best(fitness *graph.Array, count int) (order, found *graph.Array) {
	order = graph.ArgSort(WorstIfNaN(fitness).Neg(), 0)
	valid := fitness.IsNaN().Not().Convert(graph.Int32).Sum()
	position := graph.Iota(count).Rem(valid.Max(1))
	return graph.Take(order, position, 0), valid.Gt(0)
}

// saysNothing reports whether fitness, f32[population], says nothing about the members: all are equal, or none is a
// number.
func saysNothing(fitness *graph.Array) *graph.Array {
	f := WorstIfNaN(fitness)
	return f.ReduceMax().Eq(f.ReduceMin())
}

// WorstIfNaN replaces NaN by -Inf.
func WorstIfNaN(fitness *graph.Array) *graph.Array {
	return graph.Select(fitness.IsNaN(), math.Inf(-1), fitness)
}

// RankBytes returns the memory of CenteredRanks, in bytes.
func RankBytes(population uint64) uint64 {
	if population <= fewRanks {
		return 8 * population * population
	}
	return 32 * population
}
