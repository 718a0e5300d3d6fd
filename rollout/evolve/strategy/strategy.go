// Package strategy holds the ways to search for members of high fitness: one file a strategy.
package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Strategy searches for genomes of high fitness. A genome is one member's parameters: a tree of any dtypes, as the
// policy's Init returns it, or one vector, f32[n], for a strategy that implements Flat. xlarun maximizes: fitness is a
// return, and larger is better. (evosax minimizes; its formulas are used on -fitness.)
//
// Members are sampled in groups of GroupSize that share one draw. With k groups, member side*k + g is side `side` of
// group g. All methods are traced; those on one group are unbatched.
//
// A strategy is a pointer to a struct of its settings (see package settings): --strategy.sigma 0.2. It does not change.
// Its state, a tree, changes from one generation to the next.
type Strategy interface {
	// GroupSize is the number of members that share a draw, 2 for antithetic pairs. The population is a multiple.
	GroupSize() int
	// Init returns the state before the first generation: a tree. genome is where the search starts. population is the
	// number of members.
	Init(genome any, population int) any
	// Sample draws for one group: a tree, the same structure and shapes for all groups.
	Sample(key random.Key, state any) any
	// Member returns the genome of one side (an int32 scalar, 0 … GroupSize-1) of the group with the given draw.
	Member(state, draw any, side *graph.Array) any
	// Tell updates the state by the members' results. The new state has the structure and shapes of state.
	Tell(state any, e Evaluation, draws population.Draws) any
	// Mean returns the mean of the search distribution or, of a strategy that keeps members, the best of them.
	Mean(state any) any
}

// Evaluation holds the results of the members of a generation, in member order.
type Evaluation struct {
	Fitness *graph.Array // f32[population]: mean return of the episodes; NaN, the worst, if it is not finite
	Length  *graph.Array // f32[population]: mean number of steps of the episodes
	// Objectives, f32[population, k], and Descriptor, f32[population, d], are the environment's objectives and
	// behavior descriptor in an episode's last state, means over the episodes. They are nil if the environment has
	// none.
	Objectives *graph.Array `tree:"optional"`
	Descriptor *graph.Array `tree:"optional"`
}

// Flat is a Strategy whose genomes are vectors, f32[n]: the leaves one after the other. It refuses policies whose
// parameters are not all float32.
type Flat interface {
	Strategy
	FlatGenomes()
}

// Vectors is embedded by a Flat strategy.
type Vectors struct{}

// FlatGenomes marks the strategy.
func (Vectors) FlatGenomes() {}

// Keeper is a Strategy whose state holds members. It needs all draws at once.
type Keeper interface {
	Strategy
	// Keeps returns the number of genomes that the state holds.
	Keeps(population int) int
}

// Indexed is a Strategy whose draws depend on the group's number, because groups have places in its state.
type Indexed interface {
	Strategy
	// SampleAt is Sample for a group, an int32 scalar from 0 on.
	SampleAt(key random.Key, state any, group *graph.Array) any
}

// Sharing is a Strategy whose members share their matrices, except for changes of low rank. With a policy.Sharer they
// are played without forming each member's matrices.
type Sharing interface {
	Strategy
	// Shared returns the member of Member, with matrices from the state that all members share.
	Shared(state, draw any, side *graph.Array) policy.Shared
}

// Fitting is a Strategy for policies of one kind.
type Fitting interface {
	Strategy
	// Fit returns the strategy for a policy. Its error, a *settings.Error, says which policy it takes.
	Fit(p policy.Policy) (Strategy, error)
}

// Reporter is a Strategy with numbers of its own about a generation. They are metrics of a run.
type Reporter interface {
	Strategy
	// Reports returns the names of the numbers, as metrics are named. They are always the same.
	Reports() []string
	// Report returns the numbers, f32[len(Reports())] in the order of Reports. state is what Tell returned.
	Report(state any) *graph.Array
}

// Breeding is a Strategy whose result is one of its members. The others are trials, and the population's mean says
// little.
type Breeding interface {
	Reporter
	// Goal returns the name of the report that must reach the target of a run.
	Goal() string
	// Unreached says what has to happen before Goal has a number.
	Unreached() string
}

// Growing is a Reporter whose members are padded, and can move to arrays of more capacity.
type Growing interface {
	Reporter
	// Refusals returns the name of a report that counts what a generation had no capacity for.
	Refusals() string
	// Capacity returns the settings of the policy that give more capacity where the members of a state, on the host,
	// have used it up; none where they have not.
	Capacity(state any) (settings.Values, error)
	// Wider returns the state of a strategy of less capacity, from, with the capacity of this strategy.
	Wider(state any, from Strategy) any
}

// Draw samples for a group, an int32 scalar: SampleAt of an Indexed strategy, else Sample.
func Draw(s Strategy, key random.Key, state any, group *graph.Array) any {
	if i, ok := s.(Indexed); ok {
		return i.SampleAt(key, state, group)
	}
	return s.Sample(key, state)
}

// Steady is a Strategy whose state stays as it is where no member is better than another: all fitness is equal, or
// none is a number.
type Steady interface {
	Strategy
	KeepsState()
}

// Tell updates the state by the members' results: the strategy's Tell, or the same state where a Steady one keeps it.
func Tell(s Strategy, state any, e Evaluation, draws population.Draws) any {
	next := s.Tell(state, e, draws)
	if _, ok := s.(Steady); ok {
		return graph.SelectTree(saysNothing(e.Fitness), state, next)
	}
	return next
}

// Bounded is a Strategy that needs more members than one group.
type Bounded interface {
	Strategy
	LeastPopulation() int
}

// Checked is a Strategy that checks how its settings go together.
type Checked interface {
	Strategy
	// Check finds the first mistake, a *settings.Error whose key begins with "strategy.".
	Check() error
}

var registry = settings.NewRegistry[Strategy]("strategy", "strategy", "strategy")

// Register adds a strategy, for evolve and the command line. make returns it with its default settings. Register
// refuses a name that is taken.
//
// Checkpoints identify a strategy by its name, and its state by the names and shapes of the leaves (run.LeafName).
// run.Kind.Version does not cover a strategy's state. If the meaning of a leaf changes, but not its name or shape,
// rename the leaf or register the strategy under another name: otherwise old checkpoints continue with wrong numbers.
func Register(name string, make func() Strategy) error { return registry.Register(name, make) }

// MustRegister is Register for init functions.
func MustRegister(name string, make func() Strategy) { registry.MustRegister(name, make) }

// Names lists the registered strategies, sorted.
func Names() []string { return registry.Names() }

// Part returns the part "strategy" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make returns the strategy of a name with these settings. Its errors are *settings.Error.
func Make(name string, values settings.Values) (Strategy, error) {
	s, err := registry.Choose(name, values)
	if err != nil {
		return nil, err
	}
	if c, ok := s.(Checked); ok {
		return s, c.Check()
	}
	return s, nil
}

// Noise draws standard normal numbers for every floating-point leaf of a genome, leaf i with the key FoldIn(key, i).
// Other leaves get zeros, which do not change them.
func Noise(key random.Key, genome any) any {
	i := -1
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		if i++; !a.DType().IsFloat() {
			return graph.ZerosLike(a)
		}
		return random.Normal(random.FoldIn(key, i), a.Shape())
	}, genome)
}

// seedOf returns a key that follows from a genome, f32[n], for strategies whose first state is random.
func seedOf(genome *graph.Array) random.Key {
	return random.FoldIn(random.New(0), graph.Bitcast(genome, graph.Uint32).Sum())
}

// Move returns genome + factor·change, leaf by leaf, in the genome's dtypes. Whole numbers are rounded. factor
// broadcasts against every leaf.
func Move(genome any, factor *graph.Array, change any) any {
	return graph.MapTree2(func(x, d *graph.Array) *graph.Array {
		if x.DType().IsFloat() {
			return x.Add(factor.Mul(d)).Convert(x.DType())
		}
		step := factor.Mul(d.Convert(graph.Float32))
		moved := x.Convert(graph.Float32).Add(step).Round().Convert(x.DType())
		return graph.Select(step.Eq(0), x, moved) // float32 does not hold all whole numbers
	}, genome, change)
}

// decayed returns sigma after a number of generations. Like evosax's schedules it lags by one: the first two
// generations have sigma.
func decayed(sigma, decay, generations *graph.Array) *graph.Array {
	return sigma.Mul(decay.Pow(generations.Convert(graph.Float32)))
}

// single is embedded by strategies that draw members one by one.
type single struct{}

// GroupSize is 1.
func (single) GroupSize() int { return 1 }

// ranked is embedded by strategies that compare members with each other.
type ranked struct{}

// LeastPopulation is 2.
func (ranked) LeastPopulation() int { return 2 }

// steady is embedded by a Steady strategy: one that moves a distribution by the ranks of the members. evosax's follow
// the order of equal members: they drift, and the step size shrinks or grows.
type steady struct{}

// KeepsState marks the strategy.
func (steady) KeepsState() {}

// elitist is embedded by genetic algorithms: the best members of a generation are the parents of the next.
type elitist struct {
	single
	Vectors
	EliteRatio float64 `set:"elite-ratio" above:"0" max:"1" help:"part of the members that become parents"`
}

// Keeps returns the number of elites, at least one.
func (g elitist) Keeps(population int) int { return max(1, int(g.EliteRatio*float64(population))) }

// Places is the number of elites.
func (g elitist) Places(population int) int { return g.Keeps(population) }

// Survivors are the best children.
func (g elitist) Survivors(_ any, fitness *graph.Array) *graph.Array {
	order, found := best(fitness, g.Keeps(fitness.Dim(0)))
	return graph.Select(found, order, -1)
}

// normal is embedded by strategies that move a mean by a function of standard normal noise z, f32[n]. S is their state.
type normal[S interface{ mean() *graph.Array }] struct{ Vectors }

// Sample draws z.
func (normal[S]) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(S).mean().Shape())
}

// Mean returns the mean of the distribution.
func (normal[S]) Mean(state any) any { return state.(S).mean() }

// antithetic is embedded by strategies of pairs, mean ± noise.
type antithetic struct{}

// GroupSize is 2.
func (antithetic) GroupSize() int { return 2 }

// sign is +1 for side 0 and -1 for side 1.
func (antithetic) sign(side *graph.Array) *graph.Array {
	return graph.Sub(1, side.Mul(2)).Convert(graph.Float32)
}

// sides splits a number of each member, f32[2·pairs], into sides 0 and 1.
func (antithetic) sides(x *graph.Array) (plus, minus *graph.Array) {
	pairs := x.Dim(0) / 2
	return graph.SliceAxis(x, 0, 0, pairs), graph.SliceAxis(x, 0, pairs, 2*pairs)
}

// sumOf returns the weighted sum of term(noise), f32[n], over the groups; term is nil for the noise itself.
func sumOf(d population.Draws, weights *graph.Array, term func(z *graph.Array) *graph.Array) *graph.Array {
	if term == nil {
		return d.Sum(weights, nil).(*graph.Array)
	}
	return population.SumOf(d, weights, term)
}
