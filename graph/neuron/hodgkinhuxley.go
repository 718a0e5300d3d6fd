package neuron

import "xlarun/graph"

// HodgkinHuxley is a neuron with sodium and potassium channels (Hodgkin and Huxley, "A quantitative description of
// membrane current", 1952). The rates are from Traub and Miles, "Neuronal networks of the hippocampus", 1991, in the
// form of Brette et al., "Simulation of networks of spiking neurons", 2007. With x = v - VT in mV and rates in 1/ms:
//
//	C dv/dt = GL*(EL - v) + GNa*m³h*(ENa - v) + GK*n⁴*(EK - v) + I
//	dm/dt = alpha*(1 - m) - beta*m, and so h and n
//	m: alpha = 0.32*(13 - x)/(exp((13 - x)/4) - 1)   beta = 0.28*(x - 40)/(exp((x - 40)/5) - 1)
//	h: alpha = 0.128*exp((17 - x)/18)                 beta = 4/(1 + exp((40 - x)/5))
//	n: alpha = 0.032*(15 - x)/(exp((15 - x)/5) - 1)   beta = 0.5*exp((10 - x)/40)
//
// A spike is an upward crossing of Threshold by v; there is no reset.
type HodgkinHuxley struct {
	C         *graph.Array // pF
	GL        *graph.Array // nS
	EL        *graph.Array // mV
	GNa       *graph.Array // nS
	ENa       *graph.Array // mV
	GK        *graph.Array // nS
	EK        *graph.Array // mV
	VT        *graph.Array // mV: the zero of x
	Threshold *graph.Array // mV
}

// NewHodgkinHuxley is a neuron with an area of 20000 μm² and a time constant of 20 ms; it rests at about -60 mV.
func NewHodgkinHuxley() HodgkinHuxley {
	return HodgkinHuxley{C: graph.Scalar(200), GL: graph.Scalar(10), EL: graph.Scalar(-60), GNa: graph.Scalar(20000),
		ENa: graph.Scalar(50), GK: graph.Scalar(6000), EK: graph.Scalar(-90), VT: graph.Scalar(-63),
		Threshold: graph.Scalar(-20)}
}

// Variables are v, mV, and the open parts of gates.
func (m HodgkinHuxley) Variables() []string { return []string{"v", "m", "h", "n"} }

// Start is EL with the gates in their steady state at EL.
func (m HodgkinHuxley) Start(units int) State {
	v := spread(m.EL, units)
	s := State{v}
	for _, r := range m.rates(v) {
		s = append(s, r.alpha.Div(r.alpha.Add(r.beta)))
	}
	return s
}

// rate is a gate's opening and closing rates, 1/ms.
type rate struct{ alpha, beta *graph.Array }

// rates are the rates of m, h and n. They clip x to ±500 mV, far outside the physical range, to avoid overflow.
func (m HodgkinHuxley) rates(v *graph.Array) [3]rate {
	x := graph.Clamp(-500, v.Sub(m.VT), 500)
	from := func(a, sign, by float64) *graph.Array { return graph.Mul(sign/by, x.Sub(a)) }
	return [3]rate{
		{graph.Div(.32*4, exprel(from(13, -1, 4))), graph.Div(.28*5, exprel(from(40, 1, 5)))},
		{graph.Mul(.128, from(17, -1, 18).Exp()), graph.Mul(4, graph.Logistic(from(40, 1, 5)))},
		{graph.Div(.032*5, exprel(from(15, -1, 5))), graph.Mul(.5, from(10, -1, 40).Exp())},
	}
}

// Derivative is the equations above.
func (m HodgkinHuxley) Derivative(s State, in Input) (change, slope State) {
	v := s[0]
	sodium := m.GNa.Mul(s[1].Square().Mul(s[1]).Mul(s[2]))
	potassium := m.GK.Mul(s[3].Square().Square())
	i := m.GL.Mul(m.EL.Sub(v)).Add(sodium.Mul(m.ENa.Sub(v)))
	i = i.Add(potassium.Mul(m.EK.Sub(v))).Add(in.at(v))
	change = State{i.Div(m.C)}
	slope = State{in.leak(m.GL).Add(sodium.Add(potassium)).Div(m.C).Neg()}
	for k, r := range m.rates(v) {
		both := r.alpha.Add(r.beta)
		change = append(change, r.alpha.Sub(both.Mul(s[k+1])))
		slope = append(slope, both.Neg())
	}
	return change, slope
}

// Excess is v - Threshold.
func (m HodgkinHuxley) Excess(s State) *graph.Array { return s[0].Sub(m.Threshold) }

// Reset changes nothing.
func (m HodgkinHuxley) Reset(s State) State { return s }

// Resets is false.
func (m HodgkinHuxley) Resets() bool { return false }

// Constants are C and GL above 0, the other conductances at least 0, the rest any.
func (m HodgkinHuxley) Constants() []Constant {
	return []Constant{positive("C", m.C), positive("GL", m.GL), finite("EL", m.EL), atLeastZero("GNa", m.GNa),
		finite("ENa", m.ENa), atLeastZero("GK", m.GK), finite("EK", m.EK), finite("VT", m.VT),
		finite("Threshold", m.Threshold)}
}

// Longest is 0.1 ms, the time constant of m.
func (m HodgkinHuxley) Longest() *graph.Array { return graph.Scalar(.1) }
