package qd

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/settings"
)

// Emitter makes the genomes of a generation from the archive. It is a pointer to a struct of its settings and does not
// change. Its state, a tree, does. All methods are traced; Ask is for one member.
type Emitter interface {
	// Init returns the state before the first generation. genome, f32[n], is where a search may start; batch is the
	// number of members of a generation; archive is empty.
	Init(genome *graph.Array, batch int, archive Archive) any
	// Ask makes a member of a generation, given its number from 0. key is the generation's, the same for all members.
	// The result for an empty archive is not used.
	Ask(key random.Key, number *graph.Array, state any, archive Archive) Child
	// Tell updates the state, by the archive after the insertion of the members and what their insertion changed.
	// children is what Ask returned, leaves [batch, …]. The new state has the structure and shapes of state.
	Tell(key random.Key, state any, archive Archive, children Child, batch Batch, change Change) any
}

// Child is a member as an Emitter makes it.
type Child struct {
	Genome *graph.Array // f32[n]
	Draw   any          // a tree that Tell needs again, graph.None for nothing
}

var emitters = settings.NewRegistry[Emitter]("qd", "emitter", "emitter")

// MustRegisterEmitter adds an emitter, for --emitter. It panics if the name is taken.
func MustRegisterEmitter(name string, make func() Emitter) { emitters.MustRegister(name, make) }

// StrategyEmitter is an Emitter that searches with the run's --strategy.
type StrategyEmitter interface {
	Emitter
	// Strategy returns the strategy that SetStrategy has set.
	Strategy() *strategy.Erased
	// SetStrategy sets the strategy, and the number of members of a generation. It is called before all other methods.
	SetStrategy(s *strategy.Erased, batch int)
}

// batchChecker is an Emitter that checks how its settings go together with the number of members.
type batchChecker interface {
	// Check finds the first mistake, a *settings.Error.
	Check(batch int) error
}
