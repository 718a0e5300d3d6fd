// Package strategy holds the ways to search for members of high fitness: one file a strategy.
package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Strategy searches for genomes of high fitness. Its state S, its genomes G and its draws D are trees. A genome is one
// member's parameters: a tree of any dtypes, as the policy's Init returns it, or one vector, f32[n], with the leaves
// one after the other, if G is *graph.Array. A strategy that searches among vectors takes only policies whose
// parameters are all float32; one whose G is any takes all. xlarun maximizes: fitness is a return, and larger is
// better. (evosax minimizes; its formulas are used on -fitness.)
//
// Members are sampled in groups of Traits.GroupSize that share one draw. With k groups, member side*k + g is side
// `side` of group g. Init, Sample, Member, Tell and Mean are traced; those on one group are unbatched.
//
// A strategy is a pointer to a struct of its settings (see package settings): --strategy.sigma 0.2. It does not change.
// Its state changes from one generation to the next.
type Strategy[S, G, D any] interface {
	// Traits says what else the strategy can do.
	Traits() Traits[S, G, D]
	// Init returns the state before the first generation. genome is where the search starts. population is the number
	// of members.
	Init(genome G, population int) S
	// Sample draws for one group, whose number is an int32 scalar from 0 on: the same structure and shapes for all.
	Sample(key random.Key, state S, group *graph.Array) D
	// Member returns the genome of one side (an int32 scalar, 0 … GroupSize-1) of the group with the given draw.
	Member(state S, draw D, side *graph.Array) G
	// Tell updates the state by the members' results. The new state has the structure and shapes of state.
	Tell(state S, e Evaluation, draws Draws[D]) S
	// Mean returns the mean of the search distribution or, of a strategy that keeps members, the best of them.
	Mean(state S) G
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

var registry = settings.NewRegistry[any]("strategy", "strategy", "strategy")

// MustRegister adds a strategy, for evolve and the command line. defaults is a pointer to its default settings. It
// panics if the name is taken.
//
// Checkpoints identify a strategy by its name, and its state by the names and shapes of the leaves (run.LeafName).
// run.Kind.Version does not cover a strategy's state. If the meaning of a leaf changes, but not its name or shape,
// rename the leaf or register the strategy under another name: otherwise old checkpoints continue with wrong numbers.
func MustRegister[S, G, D any](name string, defaults Strategy[S, G, D]) { register(name, defaults) }

// register is MustRegister without types: generic code would be compiled again for each strategy.
func register(name string, defaults any) {
	registry.MustRegister(name, func() any { return settings.Copy(defaults) })
}

// Names lists the registered strategies, sorted.
func Names() []string { return registry.Names() }

// Part returns the part "strategy" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make returns the strategy of a name with these settings. Its errors are *settings.Error.
func Make(name string, values settings.Values) (*Erased, error) {
	s, err := registry.Choose(name, values)
	if err != nil {
		return nil, err
	}
	return erased(s), nil
}

// Noise draws standard normal numbers for every floating-point leaf of a genome, leaf i with the key FoldIn(key, i).
// Other leaves get zeros, which do not change them.
func Noise[G any](key random.Key, genome G) G {
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
func Move[G any](genome G, factor *graph.Array, change G) G {
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

// elitist is embedded by genetic algorithms of state S: the best members of a generation are the parents of the next.
type elitist[S any] struct {
	EliteRatio float64 `set:"elite-ratio" above:"0" max:"1" help:"part of the members that become parents"`
}

// Keeps returns the number of elites, at least one.
func (g elitist[S]) Keeps(population int) int { return max(1, int(g.EliteRatio*float64(population))) }

// Survivors are the best children.
func (g elitist[S]) Survivors(_ S, fitness *graph.Array) *graph.Array {
	order, found := best(fitness, g.Keeps(fitness.Dim(0)))
	return graph.Select(found, order, -1)
}

// normal is embedded by strategies that move a mean by a function of standard normal noise z, f32[n]. S is their state.
type normal[S interface{ mean() *graph.Array }] struct{}

// Sample draws z.
func (normal[S]) Sample(key random.Key, state S, _ *graph.Array) *graph.Array {
	return random.Normal(key, state.mean().Shape())
}

// Mean returns the mean of the distribution.
func (normal[S]) Mean(state S) *graph.Array { return state.mean() }

// antithetic is embedded by strategies of pairs, mean ± noise.
type antithetic struct{}

// sign is +1 for side 0 and -1 for side 1.
func (antithetic) sign(side *graph.Array) *graph.Array {
	return graph.Sub(1, side.Mul(2)).Convert(graph.Float32)
}

// sides splits a number of each member, f32[2·pairs], into sides 0 and 1.
func (antithetic) sides(x *graph.Array) (plus, minus *graph.Array) {
	pairs := x.Dim(0) / 2
	return graph.SliceAxis(x, 0, 0, pairs), graph.SliceAxis(x, 0, pairs, 2*pairs)
}
