package neuron

import "xlarun/graph"

// Izhikevich is the neuron of Izhikevich, "Simple model of spiking neurons", 2003, with a capacitance that converts
// currents to mV/ms:
//
//	dv/dt = Square*v² + Linear*v + Constant - u + I/Cm        0.04, 5 and 140 in the paper
//	du/dt = A*(B*v - u)
//	v >= Peak: spike, v = C, u = u + D
//
// These terms clip v to Peak, so that the upswing stays finite in a step of any integrator.
type Izhikevich struct {
	Cm       *graph.Array // pF
	Square   *graph.Array // 1/(mV·ms)
	Linear   *graph.Array // 1/ms
	Constant *graph.Array // mV/ms
	A        *graph.Array // 1/ms: rate of recovery
	B        *graph.Array // 1/ms: sensitivity of recovery to the potential
	C        *graph.Array // mV: potential after a spike
	D        *graph.Array // mV/ms: increase of recovery by a spike
	Peak     *graph.Array // mV
}

// NewIzhikevich is a regular spiking neuron of 100 pF.
func NewIzhikevich() Izhikevich {
	return Izhikevich{Cm: graph.Scalar(100), Square: graph.Scalar(.04), Linear: graph.Scalar(5),
		Constant: graph.Scalar(140),
		A:        graph.Scalar(.02), B: graph.Scalar(.2), C: graph.Scalar(-65), D: graph.Scalar(8),
		Peak: graph.Scalar(30)}
}

// Variables are v, mV, and the recovery u, mV/ms.
func (m Izhikevich) Variables() []string { return []string{"v", "u"} }

// Start is the rest state: the lower root of Square*v² + (Linear-B)*v + Constant, or the parabola's minimum if there is
// no root.
func (m Izhikevich) Start(units int) State {
	b := m.Linear.Sub(m.B)
	root := graph.Max(0, b.Square().Sub(graph.Mul(4, m.Square.Mul(m.Constant)))).Sqrt()
	v := spread(b.Add(root).Neg().Div(graph.Mul(2, m.Square)), units)
	return State{v, m.B.Mul(v)}
}

// Derivative is the equations above.
func (m Izhikevich) Derivative(s State, in Input) (change, slope State) {
	v, u := s[0].Min(m.Peak), s[1]
	// v*(Square*v + Linear) rounds a large number once less than Square*v² + Linear*v.
	dv := v.Mul(m.Square.Mul(v).Add(m.Linear)).Add(m.Constant).Sub(u)
	slopeV := graph.Mul(2, m.Square).Mul(v).Add(m.Linear)
	if in.Conductance != nil {
		slopeV = slopeV.Sub(in.Conductance.Div(m.Cm))
	}
	return State{dv.Add(in.at(v).Div(m.Cm)), m.A.Mul(m.B.Mul(v).Sub(u))},
		State{slopeV, m.A.Mul(graph.OnesLike(u)).Neg()}
}

// Excess is v - Peak.
func (m Izhikevich) Excess(s State) *graph.Array { return s[0].Sub(m.Peak) }

// Reset sets v and raises u.
func (m Izhikevich) Reset(s State) State {
	return State{graph.ZerosLike(s[0]).Add(m.C), s[1].Add(m.D)}
}

// Resets is true.
func (m Izhikevich) Resets() bool { return true }

// Constants are Cm, Square and A above 0, the others any.
func (m Izhikevich) Constants() []Constant {
	return []Constant{positive("Cm", m.Cm), positive("Square", m.Square), finite("Linear", m.Linear),
		finite("Constant", m.Constant),
		positive("A", m.A), finite("B", m.B), finite("C", m.C), finite("D", m.D), finite("Peak", m.Peak)}
}

// Longest is 1 ms, the paper's step, or the time constant of recovery.
func (m Izhikevich) Longest() *graph.Array { return graph.Min(1, m.A.Reciprocal()) }
