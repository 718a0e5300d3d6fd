package neuron

import "xlarun/graph"

// LIF is the leaky integrate-and-fire neuron (Lapicque 1907; constants of Vogels and Abbott, "Signal propagation and
// logic gating in networks of integrate-and-fire neurons", 2005):
//
//	C dv/dt = GL*(EL - v) + I
//	v >= Threshold: spike, v = Reset
type LIF struct {
	C         *graph.Array // pF
	GL        *graph.Array // nS; C/GL is the membrane's time constant, ms
	EL        *graph.Array // mV: rest
	Threshold *graph.Array // mV
	VReset    *graph.Array // mV
	// Subtract makes a spike subtract Threshold-VReset from the potential instead of setting it to VReset.
	Subtract bool
}

// NewLIF has a time constant of 20 ms, rests at -60 mV and spikes at -50 mV.
func NewLIF() LIF {
	return LIF{C: graph.Scalar(200), GL: graph.Scalar(10), EL: graph.Scalar(-60), Threshold: graph.Scalar(-50),
		VReset: graph.Scalar(-60)}
}

// Variables are v, mV.
func (m LIF) Variables() []string { return []string{"v"} }

// Start is EL.
func (m LIF) Start(units int) State { return State{spread(m.EL, units)} }

// Derivative is the equation above.
func (m LIF) Derivative(s State, in Input) (change, slope State) {
	v := s[0]
	i := m.GL.Mul(m.EL.Sub(v)).Add(in.at(v))
	return State{i.Div(m.C)}, State{in.leak(m.GL).Div(m.C).Neg()}
}

// Excess is v - Threshold.
func (m LIF) Excess(s State) *graph.Array { return s[0].Sub(m.Threshold) }

// Reset sets or lowers v.
func (m LIF) Reset(s State) State {
	if m.Subtract {
		return State{s[0].Sub(m.Threshold.Sub(m.VReset))}
	}
	return State{graph.ZerosLike(s[0]).Add(m.VReset)}
}

// Resets is true.
func (m LIF) Resets() bool { return true }

// Constants are C and GL above 0, the others any.
func (m LIF) Constants() []Constant {
	return []Constant{positive("C", m.C), positive("GL", m.GL), finite("EL", m.EL), finite("Threshold", m.Threshold),
		finite("VReset", m.VReset)}
}

// Longest is the membrane's time constant.
func (m LIF) Longest() *graph.Array { return m.C.Div(m.GL) }
