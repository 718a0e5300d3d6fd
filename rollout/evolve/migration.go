package evolve

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/population"
)

// Migration is what a search that is one of several islands has beside its state. Of each generation's members the best are about to leave; what has arrived
// is told in the next generation, in the place of the worst; see strategy.Receiving.
//
// Descent is counted in shares of the islands, by number. A genome that a strategy keeps (strategy.Lineal) has the share of its parent. The centre of a distribution
// is a mean of its members: an immigrant brings its own share with the weight that Hansen's logarithmic weights of the better half (strategy.LogWeights) give to
// its fitness. That is what cmaes does; of strategies that follow gradients it is a convention.
type Migration struct {
	Leaving, Arriving Travellers
	Descent           *graph.Array // f32[places, islands]: of each genome that is kept, or of the centre; rows of sum 1
	Taken             *graph.Array // i32[islands]: immigrants of each island that were among the better half, or became a kept genome
}

// Travellers are members on their way.
type Travellers struct {
	Genomes any          // leaves [k, …]
	Fitness *graph.Array // f32[k]: -Inf where there is nobody
	From    *graph.Array // i32[k]: the island
	Descent *graph.Array // f32[k, islands]
}

// migrating is what the program of a migrating search is made with; the zero value migrates nothing.
type migrating struct {
	travellers int // that leave, and arrive at most
	islands    int
}

// nobody are travellers whose places are empty.
func (m migrating) nobody(genome any) Travellers {
	return Travellers{
		Genomes: graph.MapTree(func(a *graph.Array) *graph.Array {
			return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{m.travellers}, a.Dims()...)...))
		}, genome),
		Fitness: graph.Full(graph.ShapeOf(graph.Float32, m.travellers), math.Inf(-1)),
		From:    graph.Zeros(graph.ShapeOf(graph.Int32, m.travellers)),
		Descent: graph.Zeros(graph.ShapeOf(graph.Float32, m.travellers, m.islands)),
	}
}

// start is the migration of an island, an int32 scalar, before the first generation; nil where there is none.
func (m migrating) start(s strategy.Strategy, genome any, members int, island *graph.Array) *Migration {
	if m.travellers == 0 {
		return nil
	}
	places := 1
	if l, ok := s.(strategy.Lineal); ok {
		places = l.Places(members)
	}
	own := graph.Convert(graph.Eq(graph.Iota(m.islands), island), graph.Float32)
	return &Migration{Leaving: m.nobody(genome), Arriving: m.nobody(genome), Descent: graph.BroadcastTo(own, places, m.islands),
		Taken: graph.Zeros(graph.ShapeOf(graph.Int32, m.islands))}
}

// told is a generation as the strategy hears of it: with those who have arrived in the place of the worst.
type told struct {
	evaluation strategy.Evaluation
	draws      any          // rows, as population.Kept wants them
	slot       *graph.Array // i32[groups]: which of the travellers stands in a group's place; -1: none
}

// receive puts those who have arrived in the place of the worst groups. A pair is as good as its better member; the fitness of an immigrant's mirror image, which nobody
// has played, is told as the median of the island, by which it says nothing.
func (g *generation) receive(s State, reached strategy.Evaluation, rows any) told {
	a := s.Migration.Arriving
	groups, sides := g.groups.Items, g.strategy.GroupSize()
	f := strategy.WorstIfNaN(reached.Fitness)
	standing := graph.ReduceMax(graph.Reshape(f, sides, groups), 0)
	if settled, ok := g.strategy.(strategy.Settled); ok {
		standing = settled.Standing(s.Strategy, reached.Fitness)
	}
	newcomers := graph.VMap(func(genome any) any { return g.strategy.(strategy.Receiving).Immigrant(s.Strategy, genome) })(a.Genomes)
	k := a.Fitness.Dim(0)
	valid := graph.And(graph.Gt(a.Fitness, math.Inf(-1)), graph.IsFinite(a.Fitness))
	for _, leaf := range graph.Leaves(newcomers) {
		if leaf.DType().IsFloat() {
			valid = graph.And(valid, graph.All(graph.IsFinite(graph.Reshape(leaf, k, -1)), 1))
		}
	}
	place := graph.ArgSort(graph.ArgSort(standing, 0), 0) // of each group, 0 for the worst
	which := graph.Min(place, k-1)
	slot := graph.Select(graph.And(graph.Lt(place, k), graph.Take(valid, which, 0)), which, -1)
	slot = graph.Barrier(slot)[0]

	there := graph.Ge(slot, 0)
	at := graph.Max(slot, 0)
	columns := []*graph.Array{graph.Select(there, graph.Take(a.Fitness, at, 0), graph.SliceAxis(reached.Fitness, 0, 0, groups))}
	for side := 1; side < sides; side++ {
		own := graph.SliceAxis(reached.Fitness, 0, side*groups, (side+1)*groups)
		columns = append(columns, graph.Select(there, middle(reached.Fitness), own))
	}
	t := told{evaluation: reached, slot: slot}
	t.evaluation.Fitness = graph.Barrier(graph.Concatenate(0, columns...))[0]

	// Of this device's rows, [PerDevice+1, lanes, …], those whose groups are replaced.
	c := g.groups
	number := graph.Add(graph.Iota((c.PerDevice+1)*c.Lanes), graph.Mul(c.First(), c.Lanes))
	of := graph.Select(graph.Lt(number, groups), graph.Take(slot, graph.Min(number, groups-1), 0), -1)
	t.draws = graph.MapTree2(func(rows, new *graph.Array) *graph.Array {
		flat := graph.Reshape(rows, append([]int{(c.PerDevice + 1) * c.Lanes}, rows.Dims()[2:]...)...)
		mask := graph.Reshape(graph.Ge(of, 0), append([]int{flat.Dim(0)}, ones(flat.Rank()-1)...)...)
		flat = graph.Select(graph.BroadcastTo(mask, flat.Dims()...), graph.Take(new, graph.Max(of, 0), 0), flat)
		return graph.Barrier(graph.Reshape(flat, rows.Dims()...))[0]
	}, rows, newcomers)
	return t
}

// middle is the median of the fitness that is a number, of an even number of them the lower one; NaN where none is.
func middle(fitness *graph.Array) *graph.Array {
	n := fitness.Dim(0)
	sorted := graph.Sort(strategy.WorstIfNaN(fitness), 0)
	failed := graph.Sum(graph.Convert(graph.IsNaN(fitness), graph.Int32))
	at := graph.Add(failed, graph.Quo(graph.Sub(graph.Sub(n, failed), 1), 2))
	return graph.Select(graph.Lt(failed, n), graph.DynamicIndex(sorted, graph.Min(at, n-1), 0), math.NaN())
}

func ones(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// migrate is the migration after a generation: own is what the members reached by themselves, rows are their draws.
func (g *generation) migrate(s State, in inputs, keys *graph.Array, own *graph.Array, rows any, t told) *Migration {
	m := s.Migration
	groups := g.groups.Items
	descent := graph.BroadcastTo(graph.Index(m.Descent, 0), groups, m.Descent.Dim(1)) // of the members that were played
	lineal, keeps := g.strategy.(strategy.Lineal)
	if keeps {
		descent = graph.Take(m.Descent, g.parents(s, lineal, keys), 0)
	}
	next := &Migration{Leaving: g.leave(s, in, own, rows, descent), Taken: m.Taken}
	next.Arriving = g.migrating.nobody(s.Best.Genome)

	k := m.Arriving.Fitness.Dim(0)
	there := graph.Ge(t.slot, 0)
	at := graph.Max(t.slot, 0)
	descent = graph.Select(graph.BroadcastTo(graph.ExpandDims(there, 1), descent.Dims()...), graph.Take(m.Arriving.Descent, at, 0), descent)
	var taken *graph.Array // of the groups
	if keeps {
		survivors := lineal.Survivors(s.Strategy, t.evaluation.Fitness)
		stays := graph.Lt(survivors, 0)
		member := graph.Rem(graph.Max(survivors, 0), groups)
		next.Descent = graph.Select(graph.BroadcastTo(graph.ExpandDims(stays, 1), m.Descent.Dims()...), m.Descent, graph.Take(descent, member, 0))
		same := graph.And(graph.Not(graph.ExpandDims(stays, 1)), graph.Eq(graph.ExpandDims(member, 1), graph.ExpandDims(graph.Iota(groups), 0)))
		taken = graph.Any(same, 0)
	} else {
		// The better half by the numbers that the strategy was told, an immigrant's mirror image apart.
		weights := graph.SliceAxis(strategy.LogWeights(t.evaluation.Fitness, max(1, t.evaluation.Fitness.Dim(0)/2)), 0, 0, groups)
		weights = graph.Select(graph.And(there, graph.Not(graph.All(graph.IsNaN(t.evaluation.Fitness)))), weights, 0)
		taken = graph.Gt(weights, 0)
		brought, _ := graph.Scan(func(sum *graph.Array, row struct{ W, D *graph.Array }) (*graph.Array, graph.None) {
			return graph.Add(sum, graph.Mul(row.W, row.D)), graph.None{}
		}, graph.Zeros(graph.ShapeOf(graph.Float32, m.Descent.Dim(1))), struct{ W, D *graph.Array }{weights, descent})
		left := graph.Sub(1, graph.Sum(weights))
		next.Descent = graph.Add(graph.Mul(left, m.Descent), graph.ExpandDims(brought, 0))
	}
	taken = graph.And(taken, there)
	came := graph.Convert(graph.And(graph.ExpandDims(taken, 1), graph.Eq(graph.ExpandDims(at, 1), graph.ExpandDims(graph.Iota(k), 0))), graph.Int32)
	arrived := graph.Sum(came, 0) // i32[k]: 1 where it was taken
	from := graph.Convert(graph.Eq(graph.ExpandDims(m.Arriving.From, 1), graph.ExpandDims(graph.Iota(m.Taken.Dim(0)), 0)), graph.Int32)
	next.Taken = graph.Add(m.Taken, graph.Sum(graph.Mul(graph.ExpandDims(arrived, 1), from), 0))
	return next
}

// leave are the best members, of equal ones the first.
func (g *generation) leave(s State, in inputs, fitness *graph.Array, rows any, descent *graph.Array) Travellers {
	groups := g.groups.Items
	f := strategy.WorstIfNaN(fitness)
	order := graph.SliceAxis(graph.ArgSort(graph.Neg(f), 0), 0, 0, g.migrating.travellers)
	group, side := graph.Rem(order, groups), graph.Quo(order, groups)
	draws := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Take(a, group, 0) }, population.Kept(g.groups, in.Tiles, rows).All())
	type one struct {
		Draw any
		Side *graph.Array
	}
	genomes := graph.VMap(func(o one) any { return g.strategy.Member(s.Strategy, o.Draw, o.Side) })(one{draws, side})
	leaves, tree := graph.Flatten(genomes)
	return Travellers{Genomes: tree.Unflatten(graph.Barrier(leaves...)), Fitness: graph.Take(f, order, 0), From: graph.Zeros(graph.ShapeOf(graph.Int32, g.migrating.travellers)),
		Descent: graph.Take(descent, group, 0)}
}

// parents are the kept genomes that the groups' members come from, i32[groups].
func (g *generation) parents(s State, lineal strategy.Lineal, keys *graph.Array) *graph.Array {
	c := g.groups
	ofGroups := c.Gather(graph.SliceAxis(g.groupKeys(keys), 2, 0, 2)) // [tiles, lanes, 2]
	flat := graph.SliceAxis(graph.Reshape(ofGroups, c.Total()*c.Lanes, 2), 0, 0, c.Items)
	type one struct {
		Key   random.Key
		Group *graph.Array
	}
	return graph.VMap(func(o one) *graph.Array { return lineal.Parent(o.Key, s.Strategy, o.Group) })(one{random.Key{Data: flat}, graph.Iota(c.Items)})
}
