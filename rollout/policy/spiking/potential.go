package spiking

import (
	"xlarun/graph"
	"xlarun/graph/nn"
)

// Voltmeter is a Dynamics whose potentials can be looked at.
type Voltmeter interface {
	Dynamics
	// Potential is that of each neuron of a layer in a state, f32[units] in mV.
	Potential(n Neurons, state any) *graph.Array
}

// fromRest are potentials of the fast dynamics in mV, which count them from rest in units of the way to the threshold.
func fromRest(n Neurons, u *graph.Array) *graph.Array {
	return n.Rest.Add(u.Mul(n.Threshold.Sub(n.Rest)))
}

// Potential implements Voltmeter.
func (lif) Potential(n Neurons, state any) *graph.Array {
	return fromRest(n, read[*graph.Array]("LIF", state))
}

// Potential implements Voltmeter.
func (cubalif) Potential(n Neurons, state any) *graph.Array {
	return fromRest(n, read[nn.CuBaLIFState]("CuBaLIF", state).V)
}

// Potential implements Voltmeter.
func (alif) Potential(n Neurons, state any) *graph.Array {
	return fromRest(n, read[nn.ALIFState]("ALIF", state).V)
}

// Potential implements Voltmeter. The first variable of all models is the potential.
func (mechanistic) Potential(_ Neurons, state any) *graph.Array {
	return read[mechanismState]("Mechanistic", state).Layer.Neurons[0]
}
