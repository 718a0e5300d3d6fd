package neuron

import "xlarun/graph"

// Arrivals are what comes to a layer in a step, f32[units] each.
type Arrivals struct {
	Excitatory *graph.Array `tree:"optional"` // at least 0, in the synapse's unit; nil: none
	Inhibitory *graph.Array `tree:"optional"` // at least 0, too: its sign is the synapse's business
	Current    *graph.Array `tree:"optional"` // pA through an electrode, for the whole step
}

// Weighted are the arrivals of spikes [in] by weights [in, units]: those above 0 are excitatory, the others inhibitory.
func Weighted(spikes, weights *graph.Array) Arrivals {
	return Arrivals{Excitatory: spikes.Dot(weights.Max(0)),
		Inhibitory: spikes.Dot(weights.Neg().Max(0))}
}

// Synapse makes what flows into units of what arrives at them.
type Synapse interface {
	// Start is so many units without input.
	Start(units int) State
	// Decay lets h ms pass.
	Decay(s State, h *graph.Array) State
	// Receive adds arrivals.
	Receive(s State, a Arrivals) State
	// Input is what flows in.
	Input(s State) Input
	// Constants are as a Model's.
	Constants() []Constant
}

// Currents are synapses whose arrivals, in pA, are currents that decay by themselves. With a Tau of 0 they last for one
// (sub)step.
type Currents struct {
	Tau *graph.Array // ms, [units] or []
}

// Start is no current.
func (y Currents) Start(units int) State { return State{spread(graph.ZerosLike(y.Tau), units)} }

// Decay is by exp(-h/Tau).
func (y Currents) Decay(s State, h *graph.Array) State { return State{s[0].Mul(left(h, y.Tau))} }

// Receive adds what excites and takes off what inhibits.
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

// Conductances are synapses whose arrivals, in nS, open conductances that decay by themselves and pull the potential to
// where they reverse (Destexhe, Mainen and Sejnowski, "Synthesis of models for excitable membranes", 1994): I = g*(E -
// v), twice.
type Conductances struct {
	TauE *graph.Array // ms: excitatory
	TauI *graph.Array // ms: inhibitory
	EE   *graph.Array // mV: where the excitatory one reverses
	EI   *graph.Array // mV
}

// NewConductances are those of Vogels and Abbott, 2005: 5 ms to 0 mV, 10 ms to -80 mV.
func NewConductances() Conductances {
	return Conductances{TauE: graph.Scalar(5), TauI: graph.Scalar(10), EE: graph.Scalar(0), EI: graph.Scalar(-80)}
}

// Start is closed.
func (y Conductances) Start(units int) State {
	return State{spread(graph.ZerosLike(y.TauE), units), spread(graph.ZerosLike(y.TauI), units)}
}

// Decay is by exp(-h/TauE) and exp(-h/TauI).
func (y Conductances) Decay(s State, h *graph.Array) State {
	return State{s[0].Mul(left(h, y.TauE)), s[1].Mul(left(h, y.TauI))}
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

// Constants are the time constants, at least 0, and where they reverse.
func (y Conductances) Constants() []Constant {
	return []Constant{atLeastZero("TauE", y.TauE), atLeastZero("TauI", y.TauI), finite("EE", y.EE), finite("EI", y.EI)}
}

// left is what is left after h ms of what decays with a time constant in ms: nothing for 0.
func left(h, tau *graph.Array) *graph.Array { return h.Div(tau).Neg().Exp() }
