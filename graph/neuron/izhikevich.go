package neuron

import "xlarun/graph"

// Izhikevich is the neuron of Izhikevich, "Simple model of spiking neurons", 2003, with a capacitance that makes mV/ms of currents:
//
//	dv/dt = 0.04*v² + 5*v + 140 - u + I/Cm
//	du/dt = A*(B*v - u)
//	v >= Peak: spike, v = C, u = u + D
//
// What is above Peak counts as Peak in these terms, so that the upswing stays finite within a step of any integrator.
type Izhikevich struct {
	Cm   *graph.Array // pF
	A    *graph.Array // 1/ms: how fast it recovers
	B    *graph.Array // 1/ms: how much recovery follows the potential
	C    *graph.Array // mV: where a spike sets the potential
	D    *graph.Array // mV/ms: what a spike adds to recovery
	Peak *graph.Array // mV
}

// NewIzhikevich is a regular spiking neuron of 100 pF.
func NewIzhikevich() Izhikevich {
	return Izhikevich{Cm: graph.Scalar(100), A: graph.Scalar(.02), B: graph.Scalar(.2), C: graph.Scalar(-65), D: graph.Scalar(8), Peak: graph.Scalar(30)}
}

// Variables are v, mV, and the recovery u, mV/ms.
func (m Izhikevich) Variables() []string { return []string{"v", "u"} }

// Start is where it rests: the lower root of 0.04*v² + (5-B)*v + 140, or the parabola's lowest point where there is no root.
func (m Izhikevich) Start(units int) State {
	b := graph.Sub(5, m.B)
	root := graph.Sqrt(graph.Max(0, graph.Sub(graph.Square(b), 4*.04*140)))
	v := spread(graph.Div(graph.Neg(graph.Add(b, root)), 2*.04), units)
	return State{v, graph.Mul(m.B, v)}
}

// Derivative is the equations above.
func (m Izhikevich) Derivative(s State, in Input) (change, slope State) {
	v, u := graph.Min(s[0], m.Peak), s[1]
	// v*(0.04*v + 5) + 140: one rounding of a large number less than with the square by itself.
	dv := graph.Sub(graph.Add(graph.Mul(v, graph.Add(graph.Mul(.04, v), 5)), 140), u)
	slopeV := graph.Add(graph.Mul(.08, v), 5)
	if in.Conductance != nil {
		slopeV = graph.Sub(slopeV, graph.Div(in.Conductance, m.Cm))
	}
	return State{graph.Add(dv, graph.Div(in.at(v), m.Cm)), graph.Mul(m.A, graph.Sub(graph.Mul(m.B, v), u))},
		State{slopeV, graph.Neg(graph.Mul(m.A, graph.OnesLike(u)))}
}

// Spiking is v >= Peak.
func (m Izhikevich) Spiking(s State) *graph.Array { return graph.Ge(s[0], m.Peak) }

// Reset sets v and raises u.
func (m Izhikevich) Reset(s State) State {
	return State{graph.Add(graph.ZerosLike(s[0]), m.C), graph.Add(s[1], m.D)}
}

// Resets is true.
func (m Izhikevich) Resets() bool { return true }

// Constants are Cm and A above 0, the others any.
func (m Izhikevich) Constants() []Constant {
	return []Constant{positive("Cm", m.Cm), positive("A", m.A), finite("B", m.B), finite("C", m.C), finite("D", m.D), finite("Peak", m.Peak)}
}

// Longest is 1 ms, the step of the paper, or the time constant of recovery.
func (m Izhikevich) Longest() *graph.Array { return graph.Min(1, graph.Reciprocal(m.A)) }
