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
	// Traits says what else the emitter can do.
	Traits() EmitterTraits
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

// MustRegisterEmitter adds an emitter with its default settings, for --emitter. It panics if the name is taken.
func MustRegisterEmitter(name string, defaults Emitter) {
	emitters.MustRegister(name, func() Emitter { return settings.Copy(defaults) })
}

// EmitterTraits are what an Emitter can do beyond its methods. A nil function means that it does not.
type EmitterTraits struct {
	// Check finds the first mistake in how the settings go together with the number of members, a *settings.Error.
	Check func(batch int) error
	// SetStrategy sets the run's --strategy, which the emitter searches with, and the number of members of a
	// generation. It is called before all other methods. Strategy returns it.
	SetStrategy func(s *strategy.Erased, batch int)
	Strategy    func() *strategy.Erased
	// Reports are the names of the emitter's own numbers about a generation, as metrics are named. Report returns them,
	// f32[len(Reports)], given what Tell returned.
	Reports []string
	Report  func(state any) *graph.Array
}
