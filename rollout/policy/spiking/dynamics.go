package spiking

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"xlarun/graph"
)

// Dynamics computes a substep of neurons, of Settings.DT ms. Its methods are pure functions of one layer of one member
// that can be traced. A layer's state is a tree of leaves f32[units]. A state that is not finite makes the member fail.
//
// In each substep, neurons spike whose potential crossed the threshold in the substep before. Then input arrives. So
// under all dynamics the next layer, and a recurrent layer itself, sees a spike one substep after the threshold was
// crossed.
type Dynamics interface {
	// Check refuses settings that do not fit. Its error should be a *settings.Error whose key begins with prefix.
	Check(s *Settings, prefix string) error
	// BySign reports whether Step needs excitation and inhibition separately: two matrix products instead of one.
	BySign() bool
	// Prepare maps a layer's physical values to the parameters of the other methods: a tree, once an episode.
	Prepare(s *Settings, n Neurons) any
	// Start returns the state of a layer at rest.
	Start(prepared any) any
	// Spikes returns the spikes that neurons send in this substep, f32[units]: 1 or 0. state is the state before it.
	Spikes(prepared, state any) *graph.Array
	// Step returns the state after a substep with an input. spikes are the result of Spikes.
	Step(prepared, state any, spikes *graph.Array, in Input) any
	// Potential returns the potentials of a layer in a state, f32[units] in mV, for pictures; nil: it has none.
	Potential(n Neurons, state any) *graph.Array
}

// Input is the input of a layer in a substep, f32[units] in mV: sums of the weights whose spikes arrive, without the
// constant current (Neurons.Drive).
type Input struct {
	Sum *graph.Array // nil with Dynamics.BySign
	// Excitation sums the positive weights, Inhibition the absolute values of the negative ones. Both are nil without
	// Dynamics.BySign.
	Excitation, Inhibition *graph.Array
}

// registry maps names to dynamics.
var registry = struct {
	sync.RWMutex
	all map[string]Dynamics
}{all: map[string]Dynamics{}}

// Register adds a dynamics, for the command line, under a name such as "mine" or "mine:variant". It refuses a name that
// is taken.
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
