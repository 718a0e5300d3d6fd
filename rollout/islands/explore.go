package islands

import (
	"maps"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/generation"
)

// exploreFactor multiplies or divides a Number of an island that explores.
const exploreFactor = 1.25

// explore is the population-based training of Jaderberg et al., "Population based training of neural networks" (2017,
// arXiv 1711.09846), with islands as workers. Islands whose means are in the lowest fifth take over the search of one
// of the highest fifth, and its Numbers, each multiplied or divided by 1.25 and clamped to the given range. An island
// keeps its best members and its random keys. Islands of equal means are ordered by number.
func (c *Islands) explore(s State, number, due *graph.Array, each map[string][]float64) State {
	n := c.Islands
	fifth := max(1, n/5)
	order := graph.ArgSort(s.Mean.Neg(), 0)
	rank := graph.ArgSort(order, 0)
	key := random.SplitN(random.FoldIn(random.FoldIn(s.Key, number), 1), 1+len(each))
	best := graph.Take(order, random.Randint(key[0], graph.ShapeOf(graph.Int32, n), 0, fifth), 0)
	moves := due.And(rank.Ge(n - fifth))
	source := graph.Once(graph.Select(moves, best, graph.Iota(n)))
	take := func(a *graph.Array) *graph.Array { return graph.Once(graph.Take(a, source, 0)) }

	s.Lanes.Strategy = graph.MapTree(take, s.Lanes.Strategy)
	m := s.Lanes.Migration.(generation.MigrationState)
	m.Leaving, m.Descent = graph.MapTree(take, m.Leaving), take(m.Descent)
	s.Lanes.Migration = m
	s.Each = maps.Clone(s.Each)
	for i, name := range slices.Sorted(maps.Keys(s.Each)) {
		up := random.Uniform(key[1+i], graph.ShapeOf(graph.Float32, n), 0, 1).Lt(.5)
		change := graph.Select(up, graph.Scalar(exploreFactor), graph.Scalar(1/exploreFactor))
		factor := graph.Select(moves, change, graph.Scalar(1))
		low, high := slices.Min(each[name]), slices.Max(each[name])
		changed := take(s.Each[name]).Mul(factor).Clamp(float32(low), float32(high))
		s.Each[name] = graph.Select(moves, changed, s.Each[name])
	}
	return s
}
