package evolve

import (
	"maps"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// exploreFactor is by what a Number is multiplied, or divided, where an island explores.
const exploreFactor = 1.25

// explore is the population-based training of Jaderberg et al., "Population based training of neural networks" (2017, arXiv 1711.09846), with islands as its workers: those whose means are in the lowest fifth take over the
// search of one of the highest fifth, and its Numbers, each multiplied by 1.25 or divided by it and kept between the ends of what was given. What an island has found, and its random numbers, stay its own. Islands of equal
// means are in the order of their numbers.
func (c *Islands) explore(s IslandsState, generation, due *graph.Array, each map[string][]float64) IslandsState {
	n := c.Islands
	few := max(1, n/5)
	order := graph.ArgSort(graph.Neg(s.Mean), 0)
	place := graph.ArgSort(order, 0)
	key := random.SplitN(random.FoldIn(random.FoldIn(s.Key, generation), 1), 1+len(each))
	of := graph.Take(order, random.Randint(key[0], graph.ShapeOf(graph.Int32, n), 0, few), 0)
	moves := graph.And(due, graph.Ge(place, n-few))
	source := graph.Barrier(graph.Select(moves, of, graph.Iota(n)))[0]
	take := func(a *graph.Array) *graph.Array { return graph.Barrier(graph.Take(a, source, 0))[0] }

	s.Lanes.Strategy = graph.MapTree(take, s.Lanes.Strategy)
	m := *s.Lanes.Migration
	m.Leaving, m.Descent = graph.MapTree(take, m.Leaving), take(m.Descent)
	s.Lanes.Migration = &m
	s.Each = maps.Clone(s.Each)
	for i, name := range slices.Sorted(maps.Keys(s.Each)) {
		up := graph.Lt(random.Uniform(key[1+i], graph.ShapeOf(graph.Float32, n), 0, 1), .5)
		factor := graph.Select(moves, graph.Select(up, graph.Scalar(exploreFactor), graph.Scalar(1/exploreFactor)), graph.Scalar(1))
		low, high := slices.Min(each[name]), slices.Max(each[name])
		s.Each[name] = graph.Select(moves, graph.Clamp(float32(low), graph.Mul(take(s.Each[name]), factor), float32(high)), s.Each[name])
	}
	return s
}
