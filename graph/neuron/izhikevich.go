package neuron

import "xlarun/graph"

// Izhikevich is the neuron of Izhikevich, "Simple model of spiking neurons", 2003, with a capacitance that makes mV/ms of currents:
//
//	dv/dt = Square*v² + Linear*v + Constant - u + I/Cm        0.04, 5 and 140 in the paper
//	du/dt = A*(B*v - u)
//	v >= Peak: spike, v = C, u = u + D
//
// What is above Peak counts as Peak in these terms, so that the upswing stays finite within a step of any integrator.
type Izhikevich struct {
	Cm       *graph.Array // pF
	Square   *graph.Array // 1/(mV·ms)
	Linear   *graph.Array // 1/ms
	Constant *graph.Array // mV/ms
	A        *graph.Array // 1/ms: how fast it recovers
	B        *graph.Array // 1/ms: how much recovery follows the potential
	C        *graph.Array // mV: where a spike sets the potential
	D        *graph.Array // mV/ms: what a spike adds to recovery
	Peak     *graph.Array // mV
}

// NewIzhikevich is a regular spiking neuron of 100 pF.
func NewIzhikevich() Izhikevich {
	return Izhikevich{Cm: graph.Scalar(100), Square: graph.Scalar(.04), Linear: graph.Scalar(5), Constant: graph.Scalar(140),
		A: graph.Scalar(.02), B: graph.Scalar(.2), C: graph.Scalar(-65), D: graph.Scalar(8), Peak: graph.Scalar(30)}
}

// Variables are v, mV, and the recovery u, mV/ms.
func (m Izhikevich) Variables() []string { return []string{"v", "u"} }

// Start is where it rests: the lower root of Square*v² + (Linear-B)*v + Constant, or the parabola's lowest point where there is no root.
func (m Izhikevich) Start(units int) State {
	b := graph.Sub(m.Linear, m.B)
	root := graph.Sqrt(graph.Max(0, graph.Sub(graph.Square(b), graph.Mul(4, graph.Mul(m.Square, m.Constant)))))
	v := spread(graph.Div(graph.Neg(graph.Add(b, root)), graph.Mul(2, m.Square)), units)
	return State{v, graph.Mul(m.B, v)}
}

// Derivative is the equations above.
func (m Izhikevich) Derivative(s State, in Input) (change, slope State) {
	v, u := graph.Min(s[0], m.Peak), s[1]
	// v*(Square*v + Linear): one rounding of a large number less than with the square by itself.
	dv := graph.Sub(graph.Add(graph.Mul(v, graph.Add(graph.Mul(m.Square, v), m.Linear)), m.Constant), u)
	slopeV := graph.Add(graph.Mul(graph.Mul(2, m.Square), v), m.Linear)
	if in.Conductance != nil {
		slopeV = graph.Sub(slopeV, graph.Div(in.Conductance, m.Cm))
	}
	return State{graph.Add(dv, graph.Div(in.at(v), m.Cm)), graph.Mul(m.A, graph.Sub(graph.Mul(m.B, v), u))},
		State{slopeV, graph.Neg(graph.Mul(m.A, graph.OnesLike(u)))}
}

// Excess is v - Peak.
func (m Izhikevich) Excess(s State) *graph.Array { return graph.Sub(s[0], m.Peak) }

// Reset sets v and raises u.
func (m Izhikevich) Reset(s State) State {
	return State{graph.Add(graph.ZerosLike(s[0]), m.C), graph.Add(s[1], m.D)}
}

// Resets is true.
func (m Izhikevich) Resets() bool { return true }

// Constants are Cm, Square and A above 0, the others any.
func (m Izhikevich) Constants() []Constant {
	return []Constant{positive("Cm", m.Cm), positive("Square", m.Square), finite("Linear", m.Linear), finite("Constant", m.Constant),
		positive("A", m.A), finite("B", m.B), finite("C", m.C), finite("D", m.D), finite("Peak", m.Peak)}
}

// Longest is 1 ms, the paper's step, or the time constant of recovery.
func (m Izhikevich) Longest() *graph.Array { return graph.Min(1, graph.Reciprocal(m.A)) }
