package spiking

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"xlarun/graph"
)

// Dynamics is what neurons do in a substep of Settings.DT ms. Its methods are pure functions of one layer of one
// member, which can be traced; a layer's state is a tree of leaves f32[units], finite while the neuron is sound: one
// that is not makes the member fail.
//
// In each substep all neurons whose potential came above the threshold in the one before spike first; then what arrives
// is taken in. So a spike is seen by the layer behind, and by a recurrent layer itself, in the substep behind that in
// which the threshold was crossed, under all dynamics.
type Dynamics interface {
	// Check finds what of the settings does not fit; its error is best a *settings.Error whose key begins with prefix.
	Check(s *Settings, prefix string) error
	// BySign tells whether Step wants what excites and what inhibits apart: two products in the place of one.
	BySign() bool
	// Prepare maps a layer's physical values to what the other methods take of them: a tree, once an episode.
	Prepare(s *Settings, n Neurons) any
	// Start is the state of a layer at rest.
	Start(prepared any) any
	// Spikes are those that neurons send in this substep by the state after the one before, f32[units]: 1 or 0.
	Spikes(prepared, state any) *graph.Array
	// Step takes in what arrives in this substep: the next state. spikes are what Spikes made of state.
	Step(prepared, state any, spikes *graph.Array, in Input) any
}

// Input is what arrives at a layer in a substep, f32[units] in mV: sums of the weights whose spikes arrive. The
// constant current is not among it; see Neurons.Drive.
type Input struct {
	Sum *graph.Array // nil where Dynamics.BySign
	// Excitation sums the positive weights, Inhibition the negative ones, as a number from 0 on; nil but where
	// Dynamics.BySign.
	Excitation, Inhibition *graph.Array
}

// registry maps names to dynamics.
var registry = struct {
	sync.RWMutex
	all map[string]Dynamics
}{all: map[string]Dynamics{}}

// Register makes a dynamics known by a name, "mine" or "mine:variant", and so to the command line; a name that is taken
// is refused.
func Register(name string, d Dynamics) error {
	if name == "" || d == nil {
		return fmt.Errorf("spiking.Register: got name %q and %T, want a name and a dynamics", name, d)
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.all[name] != nil {
		return fmt.Errorf("spiking.Register: %s is registered already: choose another name", name)
	}
	registry.all[name] = d
	return nil
}

// MustRegister is Register for init functions.
func MustRegister(name string, d Dynamics) {
	if err := Register(name, d); err != nil {
		panic(err)
	}
}

// Names lists the registered dynamics, sorted.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.all))
}

func lookup(name string) (Dynamics, bool) {
	registry.RLock()
	defer registry.RUnlock()
	d, ok := registry.all[name]
	return d, ok
}
