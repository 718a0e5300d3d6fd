package neuron

import "xlarun/graph"

// AdEx is the adaptive exponential integrate-and-fire neuron (Brette and Gerstner, "Adaptive exponential
// integrate-and-fire model as an effective description of neuronal activity", 2005, and its constants):
//
//	C dv/dt = GL*(EL - v) + GL*DeltaT*exp((v - VT)/DeltaT) - w + I
//	TauW dw/dt = A*(v - EL) - w
//	v >= Peak: spike, v = VReset, w = w + B
//
// These terms clip v to Peak; see ExpIF.
type AdEx struct {
	ExpIF `tree:"inline"`
	TauW  *graph.Array // ms
	A     *graph.Array // nS
	B     *graph.Array // pA: increase by a spike
}

// NewAdEx has a time constant of 9.4 ms, rests at -70.6 mV, adapts within 144 ms and peaks at 20 mV.
func NewAdEx() AdEx {
	return AdEx{ExpIF: ExpIF{C: graph.Scalar(281), GL: graph.Scalar(30), EL: graph.Scalar(-70.6),
		VT: graph.Scalar(-50.4), DeltaT: graph.Scalar(2),
		Peak: graph.Scalar(20), VReset: graph.Scalar(-70.6)}, TauW: graph.Scalar(144), A: graph.Scalar(4),
		B: graph.Scalar(80.5)}
}

// Variables are v, mV, and the adaptation w, pA.
func (m AdEx) Variables() []string { return []string{"v", "w"} }

// Start is EL without adaptation.
func (m AdEx) Start(units int) State {
	return State{spread(m.EL, units), spread(graph.ZerosLike(m.TauW), units)}
}

// Derivative is the equations above.
func (m AdEx) Derivative(s State, in Input) (change, slope State) {
	w := s[1]
	in.Current = in.Current.Sub(w)
	change, slope = m.ExpIF.Derivative(s[:1], in)
	drive := m.A.Mul(s[0].Min(m.Peak).Sub(m.EL))
	return append(change, drive.Sub(w).Div(m.TauW)),
		append(slope, graph.OnesLike(w).Div(m.TauW).Neg())
}

// Reset sets v and raises w.
func (m AdEx) Reset(s State) State { return append(m.ExpIF.Reset(s[:1]), s[1].Add(m.B)) }

// Constants are C, GL, DeltaT and TauW above 0, the others any.
func (m AdEx) Constants() []Constant {
	return append(m.ExpIF.Constants(), positive("TauW", m.TauW), finite("A", m.A), finite("B", m.B))
}

// Longest is the shorter of the two time constants.
func (m AdEx) Longest() *graph.Array { return m.ExpIF.Longest().Min(m.TauW) }
