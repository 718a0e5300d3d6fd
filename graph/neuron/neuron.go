// Package neuron has layers of point neurons in physical units: time in ms, potentials in mV, conductances in nS,
// currents in pA, capacitances in pF (pA/pF = mV/ms, nS·mV = pA, pF/nS = ms). Functions work on one example. graph.Scan
// runs a layer along time; graph.VMap adds a batch or a population. Derivatives follow the equations between spikes.
//
// A Model is one kind of neuron: the equations of its variables, its spike condition, and its reset. A Synapse turns
// arriving spikes into currents or conductances. A Layer integrates both with an Integrator in steps of DT ms, with
// substeps and a refractory period:
//
//	m := neuron.NewAdEx()
//	l := neuron.Layer{Model: m, DT: graph.Scalar(.1), Integrator: neuron.RK4}
//	last, spikes := l.Apply(l.Start(100), arrivals) // arrivals.Current: [steps, 100], in pA
//
// Constants are leaves of dims [units] or [], so that they can be learned and evolved. Package nn has dimensionless
// cells with surrogate gradients.
package neuron

import (
	"maps"
	"slices"

	"xlarun/graph"
)

// State is the variables of a layer's units, f32[units] each, in the order of Model.Variables.
type State []*graph.Array

// Model is a kind of neuron.
type Model interface {
	// Variables names the variables of a State. The first is the membrane potential, in mV.
	Variables() []string
	// Start is the state at rest.
	Start(units int) State
	// Derivative is the time derivative of each variable, per ms, and its slope: its derivative by the variable itself,
	// in 1/ms, f32[units] or f32[].
	Derivative(s State, in Input) (change, slope State)
	// Excess is the potential minus the spike threshold, mV.
	Excess(s State) *graph.Array
	// Reset is the state of units after a spike.
	Reset(s State) State
	// Resets reports whether Reset takes a unit below its threshold. If not, a unit spikes once at each upward crossing
	// of the threshold.
	Resets() bool
	// Constants are the model's constants with their ranges.
	Constants() []Constant
	// Longest is the longest step, in ms, that an integrator should take, f32[units] or f32[].
	Longest() *graph.Array
}

// Input is the current into units: Current - Conductance·v pA at the potentials v.
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

// leak is the sum of a conductance and the input's conductance, nS.
func (in Input) leak(conductance *graph.Array) *graph.Array {
	if in.Conductance == nil {
		return conductance
	}
	return conductance.Add(in.Conductance)
}

// models are the models with their usual constants.
var models = map[string]func() Model{
	"lif":        func() Model { return NewLIF() },
	"expif":      func() Model { return NewExpIF() },
	"adex":       func() Model { return NewAdEx() },
	"izhikevich": func() Model { return NewIzhikevich() },
	"hh":         func() Model { return NewHodgkinHuxley() },
}

// Models lists the names of the models.
func Models() []string { return slices.Sorted(maps.Keys(models)) }

// New is the named model with its usual constants.
func New(name string) Model {
	m, ok := models[name]
	if !ok {
		graph.Throw("neuron.New", "got the model %q, want one of %v", name, Models())
	}
	return m()
}

// spread broadcasts a constant to units.
func spread(constant *graph.Array, units int) *graph.Array {
	return graph.Zeros(graph.ShapeOf(constant.DType(), units)).Add(constant)
}
