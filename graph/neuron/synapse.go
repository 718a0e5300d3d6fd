package neuron

import "xlarun/graph"

// Arrivals are the inputs of a layer in a step, f32[units] each.
type Arrivals struct {
	Excitatory *graph.Array `tree:"optional"` // at least 0, in the synapse's unit; nil: none
	Inhibitory *graph.Array `tree:"optional"` // at least 0; the synapse applies its sign
	Current    *graph.Array `tree:"optional"` // pA through an electrode, for the whole step
}

// Synapse turns arrivals into the input of a model.
type Synapse interface {
	// Start is the state without input.
	Start(units int) State
	// Decay advances the state by h ms.
	Decay(s State, h *graph.Array) State
	// Receive adds arrivals.
	Receive(s State, a Arrivals) State
	// Input is the input to the model.
	Input(s State) Input
	// Constants are the synapse's constants with their ranges.
	Constants() []Constant
}

// Currents are synapses with exponentially decaying currents; arrivals are in pA. With a Tau of 0 a current lasts one
// substep.
type Currents struct {
	Tau *graph.Array // ms, [units] or []
}

// Start is no current.
func (y Currents) Start(units int) State { return State{spread(graph.ZerosLike(y.Tau), units)} }

// Decay is by exp(-h/Tau).
func (y Currents) Decay(s State, h *graph.Array) State { return State{s[0].Mul(decayFactor(h, y.Tau))} }

// Receive adds excitatory and subtracts inhibitory arrivals.
func (y Currents) Receive(s State, a Arrivals) State {
	i := s[0]
	if a.Excitatory != nil {
		i = i.Add(a.Excitatory)
	}
	if a.Inhibitory != nil {
		i = i.Sub(a.Inhibitory)
	}
	return State{i}
}

// Input is the current.
func (y Currents) Input(s State) Input { return Input{Current: s[0]} }

// Constants are Tau, at least 0.
func (y Currents) Constants() []Constant { return []Constant{atLeastZero("Tau", y.Tau)} }

// Conductances are synapses with exponentially decaying conductances g, excitatory and inhibitory; arrivals are in nS.
// Each pulls the potential to its reversal potential E by the current g*(E - v) (Destexhe, Mainen and Sejnowski,
// "Synthesis of models for excitable membranes", 1994).
type Conductances struct {
	TauE *graph.Array // ms: decay of the excitatory conductance
	TauI *graph.Array // ms: decay of the inhibitory conductance
	EE   *graph.Array // mV: excitatory reversal potential
	EI   *graph.Array // mV: inhibitory reversal potential
}

// NewConductances has the constants of Vogels and Abbott, 2005: 5 ms and 0 mV, 10 ms and -80 mV.
func NewConductances() Conductances {
	return Conductances{TauE: graph.Scalar(5), TauI: graph.Scalar(10), EE: graph.Scalar(0), EI: graph.Scalar(-80)}
}

// Start is zero conductances.
func (y Conductances) Start(units int) State {
	return State{spread(graph.ZerosLike(y.TauE), units), spread(graph.ZerosLike(y.TauI), units)}
}

// Decay is by exp(-h/TauE) and exp(-h/TauI).
func (y Conductances) Decay(s State, h *graph.Array) State {
	return State{s[0].Mul(decayFactor(h, y.TauE)), s[1].Mul(decayFactor(h, y.TauI))}
}

// Receive adds to each.
func (y Conductances) Receive(s State, a Arrivals) State {
	e, i := s[0], s[1]
	if a.Excitatory != nil {
		e = e.Add(a.Excitatory)
	}
	if a.Inhibitory != nil {
		i = i.Add(a.Inhibitory)
	}
	return State{e, i}
}

// Input is both conductances.
func (y Conductances) Input(s State) Input {
	return Input{Current: s[0].Mul(y.EE).Add(s[1].Mul(y.EI)), Conductance: s[0].Add(s[1])}
}

// Constants are the time constants, at least 0, and the reversal potentials.
func (y Conductances) Constants() []Constant {
	return []Constant{atLeastZero("TauE", y.TauE), atLeastZero("TauI", y.TauI), finite("EE", y.EE), finite("EI", y.EI)}
}

// decayFactor is exp(-h/tau) for h and tau in ms; 0 for a tau of 0.
func decayFactor(h, tau *graph.Array) *graph.Array { return h.Div(tau).Neg().Exp() }
