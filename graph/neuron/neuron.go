// Package neuron holds layers of point neurons in physical units, for one example as all of graph is: time in ms,
// potentials in mV, conductances in nS, currents in pA, capacitances in pF (pA/pF = mV/ms, nS·mV = pA, pF/nS = ms).
// graph.Scan runs a layer along time, graph.VMap adds a batch or a population, and derivatives are those of the
// equations between spikes.
//
// A Model is one kind of neuron: the equations of its variables, when it spikes, what a spike does to it. A Synapse
// makes currents or conductances of what arrives. A Layer runs both by an Integrator in steps of so many ms, with
// substeps and a refractory period:
//
//	m := neuron.NewAdEx()
//	l := neuron.Layer{Model: m, DT: graph.Scalar(.1), Integrator: neuron.RK4}
//	last, spikes := l.Apply(l.Start(100), arrivals) // arrivals.Current: [steps, 100], in pA
//
// Constants are leaves of dims [units] or [], so that they can be learned and evolved. Cells in units of their own,
// with surrogate gradients, are in package nn.
package neuron

import (
	"maps"
	"slices"

	"xlarun/graph"
)

// State is the variables of a layer's units, f32[units] each, in the order in which they are named.
type State []*graph.Array

// Model is a kind of neuron.
type Model interface {
	// Variables names the variables of a State. The first is the membrane potential, in mV.
	Variables() []string
	// Start is so many units at rest.
	Start(units int) State
	// Derivative is what each variable changes by in a ms, and its slope: the derivative of that by the variable
	// itself, in 1/ms, f32[units] or f32[].
	Derivative(s State, in Input) (change, slope State)
	// Excess is how far units are above where they spike, mV; below it is negative.
	Excess(s State) *graph.Array
	// Reset is the state of units that have just spiked.
	Reset(s State) State
	// Resets tells that Reset takes a unit below where it spikes. Where it does not, a unit spikes once for each time
	// it comes from below.
	Resets() bool
	// Constants are the model's constants with what they must be.
	Constants() []Constant
	// Longest is the longest step, in ms, that an integrator should take, f32[units] or f32[].
	Longest() *graph.Array
}

// Input is what flows into units: Current - Conductance·v pA at the potentials v.
type Input struct {
	Current     *graph.Array // pA
	Conductance *graph.Array `tree:"optional"` // nS; nil: none
}

// at is the current into units at potentials v, pA.
func (in Input) at(v *graph.Array) *graph.Array {
	if in.Conductance == nil {
		return in.Current
	}
	return in.Current.Sub(in.Conductance.Mul(v))
}

// leak is a conductance with that of the input, nS.
func (in Input) leak(conductance *graph.Array) *graph.Array {
	if in.Conductance == nil {
		return conductance
	}
	return conductance.Add(in.Conductance)
}

// models are the kinds of neurons with their usual constants.
var models = map[string]func() Model{
	"lif":        func() Model { return NewLIF() },
	"expif":      func() Model { return NewExpIF() },
	"adex":       func() Model { return NewAdEx() },
	"izhikevich": func() Model { return NewIzhikevich() },
	"hh":         func() Model { return NewHodgkinHuxley() },
}

// Models lists the names of the kinds of neurons.
func Models() []string { return slices.Sorted(maps.Keys(models)) }

// New is the model of a name with its usual constants.
func New(name string) Model {
	m, ok := models[name]
	if !ok {
		graph.Throw("neuron.New", "got the model %q, want one of %v", name, Models())
	}
	return m()
}

// spread is a constant for so many units.
func spread(constant *graph.Array, units int) *graph.Array {
	return graph.Zeros(graph.ShapeOf(constant.DType(), units)).Add(constant)
}
