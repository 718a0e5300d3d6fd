package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
)

// NEATSpecies are the species of a generation, the oldest first, each field [species, …].
type NEATSpecies struct {
	Number   *graph.Array // i32: from 1 on, in the order of their birth; 0: no species
	Size     *graph.Array // i32: its members
	Best     *graph.Array // f32: the best fitness so far
	Improved *graph.Array // i32: the generation that reached it
	// Numbers, i32[species, connections], and Weights, f32, are the connections of the representative: a member of the
	// last generation, with which those of the next one are compared.
	Numbers, Weights *graph.Array
}

// noSpecies returns a list of no species.
func (e *NEAT) noSpecies() NEATSpecies {
	n, c := e.MaxSpecies, e.network.Connections
	zero := graph.Zeros(graph.ShapeOf(graph.Int32, n))
	return NEATSpecies{Number: zero, Size: zero, Improved: zero,
		Best:    graph.Full(graph.ShapeOf(graph.Float32, n), math.Inf(-1)),
		Numbers: graph.Full(graph.ShapeOf(graph.Int32, n, c), int32(genome.None)),
		Weights: graph.Zeros(graph.ShapeOf(graph.Float32, n, c))}
}

// compared holds the connections of several representatives for distances from them.
type compared struct {
	Sorted  *graph.Array // i32[species·connections]: all their numbers, ascending, with repetitions
	Weights *graph.Array // f32[species, species·connections]: the weight of the number there; NaN: it has none
	Numbers *graph.Array // i32[species, connections]
	Last    *graph.Array // i32[species]: the largest number
	Count   *graph.Array // i32[species]: connections
}

// compare prepares representatives, given their numbers and weights [species, connections].
func compare(numbers, weights *graph.Array) compared {
	species, c := numbers.Dim(0), numbers.Dim(1)
	flat := graph.Flatten1D(numbers)
	sorted := flat
	if species > 1 {
		sorted = graph.Sort(flat, 0)
	}
	exist := flat.Lt(genome.None)
	place := graph.SearchSorted(sorted, flat, false) // of the first one among equal numbers
	owner := graph.Quo(graph.Iota(species*c), c)
	at := graph.Select(exist, owner.Mul(species*c).Add(place), int32(species*c*species))
	table := graph.ScatterSet(graph.Full(graph.ShapeOf(graph.Float32, species*c*species), math.NaN()), at,
		graph.Flatten1D(weights))
	count := exist.Convert(graph.Int32).Reshape(species, c).Sum(1)
	last := graph.ReduceMax(graph.Select(numbers.Lt(genome.None), numbers, -1), 1)
	return graph.Once(compared{sorted, table.Reshape(species, species*c), numbers, last, count})
}

// distances returns the compatibility distances of a member's connections from the representatives with the numbers
// from first on, below end: f32[species]; the others are 0.
func (e *NEAT) distances(c genome.Connections, r compared, first, end any) *graph.Array {
	place, found := match(c.Number, r.Sorted)
	return graph.ForiLoop(first, end, func(i, d *graph.Array) *graph.Array {
		of := func(a *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }
		weights := graph.Take(of(r.Weights), place, 0) // of the same numbers
		return graph.DynamicUpdateIndex(d, e.distance(c, weights, found.And(weights.IsNaN().Not()), of(r.Numbers),
			of(r.Last), of(r.Count)), i, 0)
	}, graph.Zeros(graph.ShapeOf(graph.Float32, r.Last.Dim(0))))
}

// distance returns the compatibility distance of a member's connections from a representative:
//
//	δ = (c₁·E + c₂·D)/N + c₃·W̄
//
// with E excess and D disjoint connections, W̄ the mean difference of matching weights, and N the connections of the
// larger genome, or 1 if both are small (equation 1 of the paper). It divides once: the quotients E/N and D/N would be
// rounded, each on its own, and species that are equally far away would not tie. weights, f32[connections], are the
// representative's where it matches. numbers, last and size are its numbers, the largest of them and how many there
// are.
func (e *NEAT) distance(c genome.Connections, weights, matches, numbers, last, size *graph.Array) *graph.Array {
	single := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32) }
	number := func(is *graph.Array) *graph.Array { return is.Convert(graph.Int32).Sum() }
	exist := c.Exist()
	count, matching := c.Count(), number(matches)
	beyond := number(exist.And(c.Number.Gt(last))) // the other's last one
	own := graph.ReduceMax(graph.Select(exist, c.Number, -1))
	excess := beyond.Add(number(numbers.Gt(own).And(numbers.Lt(genome.None))))
	disjoint := count.Add(size).Sub(matching.Mul(2)).Sub(excess)

	larger := single(count.Max(size))
	n := graph.Select(larger.Lt(e.Small.Array()), 1., larger.Max(1.)) // genomes without connections are equal
	difference := graph.Select(matches, weights.Sub(c.Weight).Abs(), 0.).Sum()
	mean := difference.Div(single(matching.Max(1)))
	genes := e.Excess.Array().Mul(single(excess)).Add(e.Disjoint.Array().Mul(single(disjoint)))
	return genes.Div(n).Add(e.WeightDifference.Array().Mul(mean))
}

// placed are the members of a generation in their species.
type placed struct {
	Place   *graph.Array // i32[population]: place of each member's species
	Species NEATSpecies  // those of the last generation, and the new ones
	founded *graph.Array // i32[]: new species
}

// speciate puts each member into the first species from whose representative it is no further than the threshold. If
// there is none, it is the representative of a new one. If there is no room for a new one, it joins the nearest.
//
// The first turn of the loop compares all members with the representatives that there are, each other one with the
// representative of a new species.
func (e *NEAT) speciate(s NEATState, all *graph.Array, draws Draws[neatDraw]) placed {
	species, members := e.MaxSpecies, all.Dim(0)
	old := s.Species.Number.Gt(0).Convert(graph.Int32).Sum()
	type loop struct {
		Place     *graph.Array // i32[population]: place of each member's species; -1: none yet
		Distances *graph.Array // f32[population, species]
		Turn      *graph.Array // i32[]
		Count     *graph.Array // i32[]: species
		Species   NEATSpecies
	}
	start := loop{graph.Full(graph.ShapeOf(graph.Int32, members), int32(-1)),
		graph.Full(graph.ShapeOf(graph.Float32, members, species), math.Inf(1)), graph.ZerosLike(old), old, s.Species}
	end := graph.While(func(l loop) *graph.Array {
		return l.Turn.Eq(0).Or(graph.Any(l.Place.Lt(0)).And(l.Count.Lt(species)))
	}, func(l loop) loop {
		founds := l.Turn.Gt(0)
		founder := graph.Select(founds, l.Place.Lt(0).Convert(graph.Int32).ArgMax(0), -1)
		c, sp := e.genome(all, founder.Max(0)).Connections, l.Species
		isNew := graph.Iota(species).Eq(graph.Select(founds, l.Count, -1))
		sp.Number = graph.Select(isNew, s.Born.Add(l.Count.Sub(old)).Add(1), sp.Number)
		sp.Improved = graph.Select(isNew, s.Generation, sp.Improved)
		sp.Best = graph.Select(isNew, math.Inf(-1), sp.Best)
		sp.Numbers = graph.Select(isNew.ExpandDims(1), c.Number, sp.Numbers)
		sp.Weights = graph.Select(isNew.ExpandDims(1), c.Weight, sp.Weights)

		first := graph.Once(graph.Select(founds, l.Count, 0))
		count := graph.Once(l.Count.Add(founds.Convert(graph.Int32)))
		reps := compare(sp.Numbers, sp.Weights)
		d := EachOf(draws, func(member *graph.Array) *graph.Array {
			return e.distances(e.genome(all, member).Connections, reps, first, count)
		})
		now := graph.Iota(species).Ge(first).And(graph.Iota(species).Lt(count))
		near := now.And(d.Le(s.Threshold).Or(graph.Iota(members).Eq(founder).ExpandDims(1)))
		joins := l.Place.Lt(0).And(graph.Any(near, 1))
		return loop{graph.Select(joins, near.Convert(graph.Int32).ArgMax(1), l.Place),
			graph.Select(now, d, l.Distances), l.Turn.Add(1), count, sp}
	}, start)
	place := graph.Select(end.Place.Lt(0), end.Distances.ArgMin(1), end.Place)
	return placed{place, end.Species, end.Count.Sub(old)}
}

// tribes are the species of a generation that has been played, those without members left out.
type tribes struct {
	Species   NEATSpecies  // without representatives
	Exist     *graph.Array // bool[species]
	Order     *graph.Array // i32[population]: the members, species by species, each from its best member to its worst
	Starts    *graph.Array // i32[species]: where the members of a species begin in order
	Survivors *graph.Array // i32[species]: those of them that have children
	Ends      *graph.Array // i32[species]: where the children of a species end in the next generation
}

// before returns the sum of the elements before each one, i32[n]. It takes n² steps, so lists must be short.
func before(x *graph.Array) *graph.Array {
	i := graph.Iota(x.Dim(0))
	return graph.Select(i.Lt(i.ExpandDims(1)), x, 0).Sum(1)
}

// offspring divides the next generation among the species, in proportion to the mean fitness of their members, which is
// fitness sharing: each member's fitness is divided by the size of its species, and the species has the sum.
func (e *NEAT) offspring(next NEATState, p placed, f *graph.Array) tribes {
	species, members := e.MaxSpecies, f.Dim(0)
	size := p.Place.ExpandDims(1).Eq(graph.Iota(species)).Convert(graph.Int32).Sum(0)
	// Species without members go to the end.
	living := size.Gt(0)
	rank := graph.Select(living, before(living.Convert(graph.Int32)),
		living.Convert(graph.Int32).Sum().Add(before(living.Not().Convert(graph.Int32))))
	from := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Int32, species)), rank, graph.Iota(species))
	moved := func(a *graph.Array) *graph.Array { return graph.Take(a, from, 0) }
	place := graph.Take(rank, p.Place, 0)
	t := tribes{Species: NEATSpecies{Number: moved(p.Species.Number), Size: moved(size), Best: moved(p.Species.Best),
		Improved: moved(p.Species.Improved)}}
	t.Exist = t.Species.Size.Gt(0)
	t.Species.Number = graph.Select(t.Exist, t.Species.Number, 0)
	of := place.ExpandDims(1).Eq(graph.Iota(species)) // [population, species]
	best := graph.ReduceMax(graph.Select(of, f.ExpandDims(1), math.Inf(-1)), 0)
	better := best.Gt(t.Species.Best)
	t.Species.Best = t.Species.Best.Max(best)
	t.Species.Improved = graph.Select(better, next.Generation, t.Species.Improved)

	sorted := graph.SortKV([]*graph.Array{place, f.Neg(), graph.Iota(members)}, 0, 2)
	t.Order, t.Starts = sorted[2], before(t.Species.Size)
	t.Survivors = e.Survival.Array().Mul(t.Species.Size.Convert(graph.Float32)).Round().Convert(graph.Int32).Max(1)

	share := e.shares(next, t, best, place, f)
	// Where compilers add in a tree, sums may fall: the maximum does not, and does not rise where there is no share.
	sums := graph.CumMax(graph.Select(share.Gt(0), graph.CumSum(share, 0), 0), 0)
	total := graph.IndexAxis(sums, 0, species-1)
	t.Ends = sums.Div(total).Mul(float32(members)).Round().Convert(graph.Int32)
	return t
}

// shares returns the part of each species in the next generation, f32[species], of any sum. Species that have not
// improved for too long have none; the best one always has. Each time that the best of all has not improved
// for so long, only the best two species have, for one generation.
func (e *NEAT) shares(next NEATState, t tribes, best, place, f *graph.Array) *graph.Array {
	species := e.MaxSpecies
	isBetter := best.ExpandDims(1).Gt(best).Or(best.ExpandDims(1).Eq(best).And(
		graph.Iota(species).ExpandDims(1).Lt(graph.Iota(species)))).And(t.Exist.ExpandDims(1))
	rank := isBetter.Convert(graph.Int32).Sum(0) // better species before each one
	single := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32) }
	fresh := single(next.Generation.Sub(t.Species.Improved)).Lt(e.Stagnation.Array()).Or(rank.Eq(0))
	stale := single(next.Generation.Sub(next.Improved))
	periods := stale.Div(e.Refocus.Array()).Floor()
	focused := periods.Gt(0.).And(periods.Mul(e.Refocus.Array()).Eq(stale))
	allowed := t.Exist.And(graph.Select(focused, rank.Lt(2), fresh))

	// Fitness from 0 on, and at most 1, so that sums do not overflow.
	finite := f.IsFinite()
	scale := graph.ReduceMax(graph.Select(finite, f.Abs(), 0.)).Max(math.SmallestNonzeroFloat32)
	least := graph.ReduceMin(graph.Select(finite, f, 0.)).Min(0.)
	shared := graph.Select(finite, f.Div(scale).Sub(least.Div(scale)), 0.)
	sum := graph.SegmentSum(shared, place, species)
	mean := sum.Div(single(t.Species.Size.Max(1)))
	share := graph.Select(allowed, mean, 0.)
	return graph.Select(share.Sum().Gt(0.), share, single(allowed))
}

// represented returns the species with new representatives, each drawn from its members.
func (e *NEAT) represented(t tribes, all neatDraw) NEATSpecies {
	champions := graph.Take(t.Order, t.Starts, 0)
	keys := random.Key{Data: graph.Take(all.Key.Data, champions, 0)}
	lot := graph.VMap(func(key random.Key) *graph.Array {
		return random.Uniform(random.FoldIn(key, 1), graph.ShapeOf(graph.Float32), 0, 1)
	})(keys)
	member := graph.Take(t.Order, t.Starts.Add(choose(lot, t.Species.Size)), 0)
	sp, c := t.Species, e.unpack(graph.Once(graph.Take(all.Genome, member, 0))).Connections
	sp.Numbers = graph.Select(t.Exist.ExpandDims(1), c.Number, int32(genome.None))
	sp.Weights = graph.Select(t.Exist.ExpandDims(1), c.Weight, 0.)
	return sp
}
