package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("randomsearch", &RandomSearch{Sigma: settings.Num(1)})
}

// RandomSearch draws every member around the start, start + σ·z, and keeps the best so far: the baseline of other
// strategies. It is evosax's RandomSearch with this sampling function. Its genomes are trees. Whole numbers do not
// change.
type RandomSearch struct {
	Sigma settings.Number `set:"sigma" above:"0" help:"standard deviation of the members around the start"`
}

// RandomSearchState is the state of RandomSearch.
type RandomSearchState struct {
	Start, Best any          // genomes
	Fitness     *graph.Array // f32[]: of Best; -Inf before there is one
}

// Traits are none.
func (*RandomSearch) Traits() (t Traits[RandomSearchState, any, any]) { return t }

// Init starts at the genome.
func (*RandomSearch) Init(genome any, _ int) RandomSearchState {
	return RandomSearchState{genome, genome, graph.Scalar(math.Inf(-1))}
}

// Sample draws z, standard normal.
func (*RandomSearch) Sample(key random.Key, state RandomSearchState, _ *graph.Array) any {
	return Noise(key, state.Start)
}

// Member is start + σ·z.
func (e *RandomSearch) Member(state RandomSearchState, noise any, _ *graph.Array) any {
	return Move(state.Start, e.Sigma.Array(), noise)
}

// Tell keeps the best member, the first among equal ones, if it is better than the best so far.
func (e *RandomSearch) Tell(s RandomSearchState, v Evaluation, noise Draws[any]) RandomSearchState {
	fitness := WorstIfNaN(v.Fitness)
	best := fitness.ArgMax(0)
	one := graph.Iota(noise.Items()).Eq(best).Convert(graph.Float32)
	found := RandomSearchState{s.Start, Move(s.Start, e.Sigma.Array(), noise.Sum(one)),
		graph.DynamicIndex(fitness, best, 0)}
	better := found.Fitness.Gt(s.Fitness)
	return graph.SelectTree(better, found, s)
}

// Mean returns the best member so far.
func (*RandomSearch) Mean(state RandomSearchState) any { return state.Best }
