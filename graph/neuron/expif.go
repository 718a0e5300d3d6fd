package neuron

import "xlarun/graph"

// ExpIF is the exponential integrate-and-fire neuron (Fourcaud-Trocmé et al., "How spike generation mechanisms
// determine the neuronal response to fluctuating inputs", 2003, and its constants):
//
//	C dv/dt = GL*(EL - v) + GL*DeltaT*exp((v - VT)/DeltaT) + I
//	v >= Peak: spike, v = VReset
//
// These terms clip v to Peak, so that the upswing stays finite in a step of any integrator.
type ExpIF struct {
	C      *graph.Array // pF
	GL     *graph.Array // nS
	EL     *graph.Array // mV: leak reversal potential
	VT     *graph.Array // mV: start of the upswing
	DeltaT *graph.Array // mV: sharpness of its start
	Peak   *graph.Array // mV: end of the upswing
	VReset *graph.Array // mV
}

// NewExpIF has a time constant of 10 ms and rests at -65 mV; its upswing begins at -59.9 mV and ends at -30 mV.
func NewExpIF() ExpIF {
	return ExpIF{C: graph.Scalar(200), GL: graph.Scalar(20), EL: graph.Scalar(-65), VT: graph.Scalar(-59.9),
		DeltaT: graph.Scalar(3.48),
		Peak:   graph.Scalar(-30), VReset: graph.Scalar(-68)}
}

// Variables are v, mV.
func (m ExpIF) Variables() []string { return []string{"v"} }

// Start is EL.
func (m ExpIF) Start(units int) State { return State{spread(m.EL, units)} }

// Derivative is the equation above.
func (m ExpIF) Derivative(s State, in Input) (change, slope State) {
	v := s[0].Min(m.Peak)
	upswing := v.Sub(m.VT).Div(m.DeltaT).Exp()
	i := m.GL.Mul(m.EL.Sub(v).Add(m.DeltaT.Mul(upswing)))
	rise := m.GL.Mul(upswing).Sub(in.leak(m.GL))
	return State{i.Add(in.at(v)).Div(m.C)}, State{rise.Div(m.C)}
}

// Excess is v - Peak.
func (m ExpIF) Excess(s State) *graph.Array { return s[0].Sub(m.Peak) }

// Reset sets v.
func (m ExpIF) Reset(s State) State { return State{graph.ZerosLike(s[0]).Add(m.VReset)} }

// Resets is true.
func (m ExpIF) Resets() bool { return true }

// Constants are C, GL and DeltaT above 0, the others any.
func (m ExpIF) Constants() []Constant {
	return []Constant{positive("C", m.C), positive("GL", m.GL), finite("EL", m.EL), finite("VT", m.VT),
		positive("DeltaT", m.DeltaT),
		finite("Peak", m.Peak), finite("VReset", m.VReset)}
}

// Longest is the membrane's time constant.
func (m ExpIF) Longest() *graph.Array { return m.C.Div(m.GL) }
