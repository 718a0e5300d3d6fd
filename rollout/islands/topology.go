package islands

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/generation"
)

// neighbors returns, for each member that arrives on each island, its island and its rank among that island's best,
// i32[islands, migrants]. A random topology is drawn in each generation.
func (c *Islands) neighbors(key random.Key, generation *graph.Array) (from, rank *graph.Array) {
	n, k := c.Islands, c.Migrants
	if c.Topology == TopologyRandom {
		other := random.Randint(random.FoldIn(key, generation), graph.ShapeOf(graph.Int32, n, k), 0, n-1)
		island := graph.Iota(n).ExpandDims(1).BroadcastTo(n, k)
		return other.Add(other.Ge(island).Convert(graph.Int32)),
			graph.Iota(k).ExpandDims(0).BroadcastTo(n, k)
	}
	var islands, ranks []int32
	for i := range n {
		around := []int{(i + n - 1) % n}
		if c.Topology == TopologyTorus {
			around = torus(n, i)
		}
		for j := range k {
			islands = append(islands, int32(around[j%len(around)]))
			ranks = append(ranks, int32(j/len(around)))
		}
	}
	return graph.Int32s(islands, n, k), graph.Int32s(ranks, n, k)
}

// torus returns the neighbors of an island on a grid that is as square as possible: left, right, above and below, each
// once.
func torus(n, i int) (around []int) {
	rows := int(math.Sqrt(float64(n)))
	for n%rows != 0 {
		rows--
	}
	columns := n / rows
	row, column := i/columns, i%columns
	seen := map[int]bool{i: true}
	for _, neighbor := range [][2]int{{row, column + columns - 1}, {row, column + 1}, {row + rows - 1, column},
		{row + 1, column}} {
		j := neighbor[0]%rows*columns + neighbor[1]%columns
		if !seen[j] {
			seen[j] = true
			around = append(around, j)
		}
	}
	return around
}

// exchange returns the members that arrive on each island, given those that leave, or nobody if no migration is due.
func (c *Islands) exchange(key random.Key, generation, due *graph.Array,
	leaving generation.Migrants) generation.Migrants {
	n, k := c.Islands, c.Migrants
	from, rank := c.neighbors(key, generation)
	row := from.Mul(k).Add(rank).Reshape(n * k)
	t := graph.MapTree(func(a *graph.Array) *graph.Array {
		flat := a.Reshape(append([]int{n * k}, a.Dims()[2:]...)...)
		return graph.Once(graph.Take(flat, row, 0).Reshape(a.Dims()...))
	}, leaving)
	t.Fitness = graph.Select(due, t.Fitness, math.Inf(-1))
	t.From = from
	return t
}
