package generation

import (
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Migration is the part of a State for the exchange with other searches: MigrationState for one of several islands.
type Migration interface {
	// migrate returns the evaluation and the noise for Tell, with immigrants, and the next Migration. It gets the
	// evaluation of the search's own members, and their noise n.
	migrate(p *Program, s State, in Inputs, keys memberKeys, evaluation strategy.Evaluation, n noise) (
		strategy.Evaluation, noise, Migration)
}

// noMigration is the Migration of a single search.
type noMigration struct{}

func (noMigration) migrate(_ *Program, _ State, _ Inputs, _ memberKeys, evaluation strategy.Evaluation, n noise) (
	strategy.Evaluation, noise, Migration) {
	return evaluation, n, noMigration{}
}

// MigrationState is the Migration of one of several islands. The best members of each generation are ready to leave.
// Members that have arrived replace the worst members in the next Tell; see strategy.Traits.
//
// Descent is the share of each island, by number. A genome in the state that members descend from (strategy.Traits)
// has the shares of its parent. The mean of a distribution has the weighted mean of its members' shares, with Hansen's
// logarithmic weights of the better half (strategy.LogWeights). CMA-ES weights exactly so; for strategies that follow
// gradients it is a convention.
type MigrationState struct {
	Leaving, Arriving Migrants
	Descent           *graph.Array // f32[places, islands]: of each genome in the state, or of the mean; rows of sum 1
	// i32[islands]: immigrants of each island that were in the better half, or became a genome of the state
	Taken *graph.Array
}

// Migrants are members that move between islands.
type Migrants struct {
	Genomes any          // leaves [k, …]
	Fitness *graph.Array // f32[k]: -Inf for an empty place
	From    *graph.Array // i32[k]: the island
	Descent *graph.Array // f32[k, islands]
}

// checkMigration refuses strategies that take no immigrants, and too many migrants.
func (x *Setup) checkMigration() error {
	if x.Options.Migrants == 0 {
		return nil
	}
	if x.Strategy.Immigrant == nil {
		return settings.Wrong("strategy", x.Search.Strategy, "a strategy that takes members in, that is one of %s",
			strings.Join(Receiving(), ", "))
	}
	groups := x.Search.Population / x.Strategy.GroupSize
	if groups < 2 {
		return settings.Wrong("pop", x.Search.Population, "%d or more: half of a population can leave, in groups of %d",
			2*x.Strategy.GroupSize, x.Strategy.GroupSize)
	}
	if x.Options.Migrants > groups/2 {
		return settings.Wrong("migrants", x.Options.Migrants, "at most %d, half of the %d groups of a population of %d",
			groups/2, groups, x.Search.Population)
	}
	return nil
}

// SuggestMigrants lowers the number of migrants to what the population allows.
func (c *Search) SuggestMigrants(values settings.Values, m MigrationSettings) {
	s, err := strategy.Make(c.Strategy, nil)
	if err != nil {
		return // the check of the settings says so
	}
	if most := c.Population / s.GroupSize / 2; most >= 1 && most < m.Migrants {
		values["migrants"] = most
	}
}

// Receiving lists the strategies that take immigrants.
func Receiving() []string {
	return slices.DeleteFunc(strategy.Names(), func(name string) bool {
		s, err := strategy.Make(name, nil)
		return err != nil || s.Immigrant == nil
	})
}

// startMigration returns the Migration of island 0 before the first generation.
func (p *Program) startMigration(genome any) Migration {
	if p.Options.Migrants == 0 {
		return noMigration{}
	}
	places := 1
	if p.Strategy.Parent != nil {
		places = p.Strategy.Places(p.members())
	}
	island := graph.Scalar(0, graph.Int32)
	ownDescent := graph.Iota(p.Options.Islands).Eq(island).Convert(graph.Float32)
	return MigrationState{Leaving: p.noMigrants(genome), Arriving: p.noMigrants(genome),
		Descent: ownDescent.BroadcastTo(places, p.Options.Islands),
		Taken:   graph.Zeros(graph.ShapeOf(graph.Int32, p.Options.Islands))}
}

// noMigrants returns empty places.
func (p *Program) noMigrants(genome any) Migrants {
	k := p.Options.Migrants
	return Migrants{
		Genomes: population.ZeroRows(k, genome),
		Fitness: graph.Full(graph.ShapeOf(graph.Float32, k), math.Inf(-1)),
		From:    graph.Zeros(graph.ShapeOf(graph.Int32, k)),
		Descent: graph.Zeros(graph.ShapeOf(graph.Float32, k, p.Options.Islands)),
	}
}

func (m MigrationState) migrate(p *Program, s State, in Inputs, keys memberKeys,
	evaluation strategy.Evaluation, n noise) (strategy.Evaluation, noise, Migration) {
	joint, slot, immigrants := m.receive(p, s, evaluation)
	rows := p.replace(n.rows, slot, immigrants)
	descent := m.descentOf(p, s, keys)
	next := MigrationState{Leaving: p.leave(s, evaluation.Fitness, n, descent),
		Arriving: p.noMigrants(s.Best.Genome)}
	// The descent of the members of the evaluation.
	arrived := slot.Ge(0).ExpandDims(1).BroadcastTo(descent.Dims()...)
	descent = graph.Select(arrived, graph.Take(m.Arriving.Descent, slot.Max(0), 0), descent)
	var taken *graph.Array
	if p.Strategy.Parent != nil {
		next.Descent, taken = m.keep(p.Strategy.Survivors(s.Strategy, joint.Fitness), descent)
	} else {
		next.Descent, taken = m.mix(joint.Fitness, slot, descent)
	}
	next.Taken = m.Taken.Add(m.countTaken(taken.And(slot.Ge(0)), slot))
	return joint, p.storedNoise(in, rows), next
}

// receive replaces the worst groups by immigrants. It returns the evaluation with them; the migrant in the slot of
// each group, i32[groups], -1 for none; and the migrants as draws, leaves [k, …].
func (m MigrationState) receive(p *Program, s State, own strategy.Evaluation) (
	joint strategy.Evaluation, slot *graph.Array, immigrants any) {
	groups, sides := p.Groups.Items, p.Strategy.GroupSize
	// A pair is as good as its better member.
	standing := strategy.WorstIfNaN(own.Fitness).SplitAxis(0, sides, groups).ReduceMax(0)
	if p.Strategy.Standing != nil {
		standing = p.Strategy.Standing(s.Strategy, own.Fitness)
	}
	immigrants = graph.VMap(func(genome any) any {
		return p.Strategy.Immigrant(s.Strategy, genome)
	})(m.Arriving.Genomes)
	slot = m.slots(standing, m.valid(immigrants))
	joint = own
	joint.Fitness = m.jointFitness(own.Fitness, slot)
	return joint, slot, immigrants
}

// valid reports which places have a migrant whose fitness and draw, leaves [k, …], are finite: bool[k].
func (m MigrationState) valid(immigrants any) *graph.Array {
	k := m.Arriving.Fitness.Dim(0)
	valid := m.Arriving.Fitness.Gt(math.Inf(-1)).And(m.Arriving.Fitness.IsFinite())
	for _, leaf := range graph.Leaves(immigrants) {
		if leaf.DType().IsFloat() {
			valid = valid.And(leaf.Reshape(k, -1).IsFinite().All(1))
		}
	}
	return valid
}

// slots returns the migrant that replaces each group, i32[groups]; -1 for none. The worst group by standing,
// f32[groups], has place 0. valid, bool[k], are the places that have a migrant.
func (m MigrationState) slots(standing, valid *graph.Array) *graph.Array {
	k := valid.Dim(0)
	rank := graph.ArgSort(graph.ArgSort(standing, 0), 0) // of each group, 0 for the worst
	migrant := rank.Min(k - 1)
	return graph.Once(graph.Select(rank.Lt(k).And(graph.Take(valid, migrant, 0)), migrant, -1))
}

// jointFitness returns the fitness of the members, f32[members], with that of the immigrants. The mirror image of an
// immigrant has not been evaluated: its fitness is the island's median, which carries no information.
func (m MigrationState) jointFitness(own, slot *graph.Array) *graph.Array {
	groups := slot.Dim(0)
	arrived, fitness := slot.Ge(0), graph.Take(m.Arriving.Fitness, slot.Max(0), 0)
	sides := []*graph.Array{graph.Select(arrived, fitness, graph.SliceAxis(own, 0, 0, groups))}
	for from := groups; from < own.Dim(0); from += groups {
		sides = append(sides, graph.Select(arrived, median(own), graph.SliceAxis(own, 0, from, from+groups)))
	}
	return graph.Once(graph.Concatenate(0, sides...))
}

// replace writes immigrants, leaves [k, …], to their slots in this device's draws, leaves [RowCount, lanes, …].
func (p *Program) replace(rows any, slot *graph.Array, immigrants any) any {
	t := p.Groups
	index := graph.Iota(t.RowCount() * t.Lanes).Add(t.First().Mul(t.Lanes))
	slots := graph.Select(index.Lt(t.Items), graph.Take(slot, index.Min(t.Items-1), 0), -1)
	return graph.MapTree2(func(rows, immigrant *graph.Array) *graph.Array {
		flat := rows.MergeAxes(0, 2)
		mask := slots.Ge(0).Reshape(append([]int{flat.Dim(0)}, slices.Repeat([]int{1}, flat.Rank()-1)...)...)
		flat = graph.Select(mask.BroadcastTo(flat.Dims()...), graph.Take(immigrant, slots.Max(0), 0), flat)
		return graph.Once(flat.Reshape(rows.Dims()...))
	}, rows, immigrants)
}

// median returns the median of fitness without NaN, the lower one of two, or NaN.
func median(fitness *graph.Array) *graph.Array {
	n := fitness.Dim(0)
	sorted := graph.Sort(strategy.WorstIfNaN(fitness), 0)
	failed := fitness.IsNaN().Convert(graph.Int32).Sum()
	middle := failed.Add(graph.Quo(graph.Sub(n, failed).Sub(1), 2))
	return graph.Select(failed.Lt(n), graph.DynamicIndex(sorted, middle.Min(n-1), 0), math.NaN())
}

// descentOf returns the descent of the members that were evaluated, f32[groups, islands].
func (m MigrationState) descentOf(p *Program, s State, keys memberKeys) *graph.Array {
	groups := p.Groups.Items
	if p.Strategy.Parent != nil {
		groupKeys := p.Groups.Gather(keys.Groups.Data).MergeAxes(0, 2) // [tiles·lanes, 2]
		parents := graph.VMap2(func(key random.Key, group *graph.Array) *graph.Array {
			return p.Strategy.Parent(random.Clone(key), s.Strategy, group)
		})(random.Key{Data: graph.SliceAxis(groupKeys, 0, 0, groups)}, graph.Iota(groups))
		return graph.Take(m.Descent, parents, 0)
	}
	return m.Descent.Index(0).BroadcastTo(groups, m.Descent.Dim(1))
}

// keep returns the descent of the genomes in the state, given the survivors, and which groups became one, bool[groups].
func (m MigrationState) keep(survivors, descent *graph.Array) (kept, taken *graph.Array) {
	groups := descent.Dim(0)
	stays := survivors.Lt(0)
	member := survivors.Max(0).Rem(groups)
	kept = graph.Select(stays.ExpandDims(1).BroadcastTo(m.Descent.Dims()...), m.Descent, graph.Take(descent, member, 0))
	same := stays.ExpandDims(1).Not().And(member.ExpandDims(1).Eq(graph.Iota(groups).ExpandDims(0)))
	return kept, same.Any(0)
}

// mix returns the descent of a distribution's mean, and which groups are in the better half, bool[groups]. Mirror
// images of immigrants have no weight.
func (m MigrationState) mix(fitness, slot, descent *graph.Array) (descended, taken *graph.Array) {
	better := strategy.LogWeights(fitness, max(1, fitness.Dim(0)/2))
	weights := graph.SliceAxis(better, 0, 0, descent.Dim(0))
	weights = graph.Select(slot.Ge(0).And(fitness.IsNaN().All().Not()), weights, 0)
	taken = weights.Gt(0)
	type weighted = graph.Pair[*graph.Array, *graph.Array]
	brought, _ := graph.Scan(func(sum *graph.Array, row weighted) (*graph.Array, graph.None) {
		return sum.Add(row.First.Mul(row.Second)), graph.None{}
	}, graph.Zeros(graph.ShapeOf(graph.Float32, m.Descent.Dim(1))), graph.PairOf(weights, descent))
	stays := graph.Sub(1, weights.Sum())
	return stays.Mul(m.Descent).Add(brought.ExpandDims(0)), taken
}

// countTaken counts the migrants that were taken, by the island from which they come: i32[islands].
func (m MigrationState) countTaken(taken, slot *graph.Array) *graph.Array {
	k, islands := m.Arriving.Fitness.Dim(0), m.Taken.Dim(0)
	migrant := slot.Max(0).ExpandDims(1).Eq(graph.Iota(k).ExpandDims(0))
	count := taken.ExpandDims(1).And(migrant).Convert(graph.Int32).Sum(0) // i32[k]: 1 where it was taken
	from := m.Arriving.From.ExpandDims(1).Eq(graph.Iota(islands).ExpandDims(0)).Convert(graph.Int32)
	return count.ExpandDims(1).Mul(from).Sum(0)
}

// leave returns the best members, the first among equal ones.
func (p *Program) leave(s State, fitness *graph.Array, n noise, descent *graph.Array) Migrants {
	groups := p.Groups.Items
	f := strategy.WorstIfNaN(fitness)
	order := graph.SliceAxis(graph.ArgSort(f.Neg(), 0), 0, 0, p.Options.Migrants)
	group, side := order.Rem(groups), graph.Quo(order, groups)
	draws := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Take(a, group, 0) }, n.All())
	genomes := graph.VMap2(func(draw any, side *graph.Array) any {
		return p.Strategy.Member(s.Strategy, draw, side)
	})(draws, side)
	return Migrants{Genomes: graph.Once(genomes), Fitness: graph.Take(f, order, 0),
		From:    graph.Zeros(graph.ShapeOf(graph.Int32, p.Options.Migrants)),
		Descent: graph.Take(descent, group, 0)}
}
