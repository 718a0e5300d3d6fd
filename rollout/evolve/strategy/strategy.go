// Package strategy holds the ways to search for members of high fitness: one file a strategy.
package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Strategy searches for genomes of high fitness. A genome is one member's parameters: any tree, of any dtypes, as the
// policy's Init draws it; a strategy that implements Flat sees it as one vector, f32[n]. xlarun maximises: fitness is a
// return, larger is better (evosax minimises; its formulas are used on -fitness).
//
// Members are sampled in groups of GroupSize that share one draw. With k groups, member side*k + g is side `side` of
// group g. All methods are traced; those on one group are unbatched.
//
// A strategy is a pointer to a struct of its own settings (see package settings): --strategy.sigma 0.2. It does not
// change. What changes from one generation to the next is its state, a tree.
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
	// Tell moves the state by what the members reached. The new state has the structure and shapes of state.
	Tell(state any, e Evaluation, draws population.Draws) any
	// Centre returns the genome that stands for the state: the mean of the search, or the best genome that it keeps.
	Centre(state any) any
}

// Evaluation is what the members of a generation reached, in member order.
type Evaluation struct {
	Fitness *graph.Array // f32[population]: mean return of the episodes, NaN where it is not finite: the worst
	Length  *graph.Array // f32[population]: mean number of steps of the episodes
	// Objectives, f32[population, k], and Descriptor, f32[population, d], are the environment's objectives and
	// behaviour descriptor of an episode's last state, means over the episodes. nil where the environment has none.
	Objectives *graph.Array `tree:"optional"`
	Descriptor *graph.Array `tree:"optional"`
}

// Flat is a Strategy whose genomes are vectors: parameters go in and come out as one f32[n], leaf after leaf. Policies
// whose parameters are not all float32 are refused.
type Flat interface {
	Strategy
	FlatGenomes()
}

// Vectors is what a Flat strategy embeds.
type Vectors struct{}

// FlatGenomes marks the strategy.
func (Vectors) FlatGenomes() {}

// Keeper is a Strategy whose state holds some of the members, so that it asks for all draws at once.
type Keeper interface {
	Strategy
	// Keeps returns the number of genomes that the state holds.
	Keeps(population int) int
}

// Indexed is a Strategy whose groups have places of their own in its state. Its draws depend on the group's number.
type Indexed interface {
	Strategy
	// SampleAt is Sample for a group, an int32 scalar from 0 on.
	SampleAt(key random.Key, state any, group *graph.Array) any
}

// Sharing is a Strategy whose members share their matrices, except for changes of low rank. With a policy that is a
// policy.Sharer they are played without forming each member's matrices.
type Sharing interface {
	Strategy
	// Shared returns the member that Member returns, with the state's arrays that all members share.
	Shared(state, draw any, side *graph.Array) policy.Shared
}

// Draw samples for a group, an int32 scalar: SampleAt of an Indexed strategy, else Sample.
func Draw(s Strategy, key random.Key, state any, group *graph.Array) any {
	if i, ok := s.(Indexed); ok {
		return i.SampleAt(key, state, group)
	}
	return s.Sample(key, state)
}

// Bounded is a Strategy that needs more members than one group.
type Bounded interface {
	Strategy
	LeastPopulation() int
}

// Checked is a Strategy with more to check than the ranges of its settings: how they go together.
type Checked interface {
	Strategy
	// Check finds the first mistake, a *settings.Error whose key begins with "strategy.".
	Check() error
}

var registry = settings.NewRegistry[Strategy]("strategy", "strategy", "strategy")

// Register makes a strategy known to evolve, and so to the command line. make returns it with its default settings. A
// name that is taken is refused.
//
// Checkpoints know a strategy by its name and its state by the names and shapes of the leaves (run.LeafName), which is
// what a resumed run is checked against; run.Kind.Version is evolve's and covers no strategy's own state. If the
// meaning of a leaf changes, but not its name or shape, rename the leaf or register the strategy under another name:
// otherwise old checkpoints would go on with wrong numbers.
func Register(name string, make func() Strategy) error { return registry.Register(name, make) }

// MustRegister is Register for init functions.
func MustRegister(name string, make func() Strategy) { registry.MustRegister(name, make) }

// Names lists the registered strategies, sorted.
func Names() []string { return registry.Names() }

// Part is the part "strategy" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make returns the strategy of a name with settings of its own. Its errors are *settings.Error.
func Make(name string, own settings.Values) (Strategy, error) {
	s, err := registry.Choose(name, own)
	if err != nil {
		return nil, err
	}
	if c, ok := s.(Checked); ok {
		return s, c.Check()
	}
	return s, nil
}

// Noise draws a standard normal number for every float of a genome, leaf i with the key FoldIn(key, i). Leaves of other
// dtypes get zeros: they stay as they are.
func Noise(key random.Key, genome any) any {
	i := -1
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		if i++; !a.DType().IsFloat() {
			return graph.ZerosLike(a)
		}
		return random.Normal(random.FoldIn(key, i), a.Shape())
	}, genome)
}

// Move returns genome + factor·change, leaf by leaf, in the genome's dtypes; whole numbers are rounded, and stay where
// nothing changes them. factor is a scalar, or whatever else multiplies every leaf.
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

// decayed returns sigma after so many generations. Like evosax's schedules it lags by one: the first two have sigma.
func decayed(sigma, decay, generations *graph.Array) *graph.Array {
	return sigma.Mul(decay.Pow(generations.Convert(graph.Float32)))
}

// single is the part that strategies share whose members are drawn one by one.
type single struct{}

// GroupSize is 1.
func (single) GroupSize() int { return 1 }

// ranked is the part that strategies share that compare members with each other.
type ranked struct{}

// LeastPopulation is 2.
func (ranked) LeastPopulation() int { return 2 }

// antithetic is the part that strategies of pairs, mean ± noise, share.
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
