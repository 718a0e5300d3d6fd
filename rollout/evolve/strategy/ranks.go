package strategy

import (
	"math"

	"xlarun/graph"
)

// fewRanks is the population up to which every pair is compared, which is quicker to compile than a sort.
const fewRanks = 256

// CentredRanks maps fitness, f32[population], to its rank in [-0.5, 0.5], the best at +0.5. Equal ones share the mean of
// their ranks; NaN is the worst.
func CentredRanks(fitness *graph.Array) *graph.Array {
	n := fitness.Dim(0)
	if n < 2 {
		return graph.ZerosLike(fitness)
	}
	twice := graph.Convert(twiceRanks(fitness), graph.Float32)
	return graph.Sub(graph.Div(twice, float32(2*(n-1))), float32(.5))
}

// twiceRanks gives twice each rank from 0, the worst, i32[n]: equal ones share the mean of their ranks, NaN is the worst.
func twiceRanks(fitness *graph.Array) *graph.Array {
	rank := ranksBySort
	if fitness.Dim(0) <= fewRanks {
		rank = ranksByPairs
	}
	return rank(WorstIfNaN(fitness))
}

// ranksByPairs gives twice each rank from 0, i32[n], by n² comparisons: whoever is below counts 2, whoever is equal 1.
func ranksByPairs(f *graph.Array) *graph.Array {
	row, column := graph.ExpandDims(f, 0), graph.ExpandDims(f, 1)
	below := graph.Convert(graph.Lt(column, row), graph.Int32)
	notAbove := graph.Convert(graph.Le(column, row), graph.Int32)
	return graph.Sub(graph.Sum(graph.Add(below, notAbove), 0), 1) // itself is among the equal ones
}

// ranksBySort gives the same: how many are below each one, and how many are not above it, by bisection of the sorted list.
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
			next := graph.Add(count, stride)
			at := graph.Take(sorted, graph.Min(graph.Sub(next, 1), n-1), 0)
			return graph.Select(graph.And(graph.Le(next, n), before(at, f)), next, count)
		}
		return counts{step(c.Below, graph.Lt), step(c.NotAbove, graph.Le)}, graph.None{}
	}, counts{zero, zero}, graph.Int32s(strides))
	return graph.Sub(graph.Add(end.Below, end.NotAbove), 1)
}

// LogWeights are the weights of Hansen, "The CMA evolution strategy: a tutorial" (2016), with which the best members, the
// parents, are recombined: f32[population], proportional to log(parents + 1/2) - log(place), of sum 1; 0 for the others. Of
// equal members the first are better; NaN is the worst.
func LogWeights(fitness *graph.Array, parents int) *graph.Array {
	order := graph.ArgSort(graph.Neg(WorstIfNaN(fitness)), 0)
	place := graph.Add(graph.Convert(graph.ArgSort(order, 0), graph.Float32), 1)
	weights := graph.Max(graph.Sub(float32(math.Log(float64(parents)+.5)), graph.Log(place)), 0)
	return graph.Div(weights, graph.Sum(weights))
}

// best gives the members of highest fitness in order, i32[count], earlier ones first among equals, and whether there is a
// number among the fitnesses at all, a bool scalar. NaN is never among them: where too few members have a number, those who
// have come again and again.
func best(fitness *graph.Array, count int) (order, found *graph.Array) {
	order = graph.ArgSort(graph.Neg(WorstIfNaN(fitness)), 0)
	valid := graph.Sum(graph.Convert(graph.Not(graph.IsNaN(fitness)), graph.Int32))
	place := graph.Rem(graph.Iota(count), graph.Max(valid, 1))
	return graph.Take(order, place, 0), graph.Gt(valid, 0)
}

// WorstIfNaN replaces NaN by -Inf.
func WorstIfNaN(fitness *graph.Array) *graph.Array {
	return graph.Select(graph.IsNaN(fitness), math.Inf(-1), fitness)
}

// RankBytes is the memory that CentredRanks takes.
func RankBytes(population uint64) uint64 {
	if population <= fewRanks {
		return 8 * population * population
	}
	return 32 * population
}
