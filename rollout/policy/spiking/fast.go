package spiking

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("fast", lif{})
	MustRegister("fast:alif", alif{})
	MustRegister("fast:cubalif", cubalif{})
}

// fast is what the fast dynamics share: cells of package nn. Their potentials are differences from rest, in units of
// the distance to the threshold:
//
//	u         = (v - Rest)/(Threshold - Rest)        the threshold is 1; a spike takes 1 off, so that Reset is Rest
//	Beta      = exp(-dt/Membrane)
//	Alpha     = exp(-dt/Synapse)                     cubalif
//	Gamma     = exp(-dt/Adaptation)                  alif
//	Jump      = Jump/(Threshold - Rest)              alif
//	x         = (weights + (1 - Beta)*Drive)/(Threshold - Rest)
//	x         = ((1 - Alpha)*weights + (1 - Alpha)*(1 - Beta)*Drive)/(Threshold - Rest)
//	                                                 cubalif: its current sums up to the weights
type fast struct{}

func (fast) BySign() bool { return false }

func (fast) Check(s *Settings, prefix string) error {
	if s.Reset.Value != s.Rest.Value {
		return settings.Wrong(prefix+"reset", s.Reset.Value, "%srest, %g: with the dynamics %s a spike takes off the "+
			"way from rest to threshold", prefix, s.Rest.Value, s.Dynamics)
	}
	if s.Refractory > 0 {
		return settings.Wrong(prefix+"refractory", s.Refractory,
			"0: with the dynamics %s neurons can spike in every substep", s.Dynamics)
	}
	return nil
}

// unit are the physical values of neurons in the units of the fast dynamics, f32[units] each.
type unit struct {
	Beta, Alpha, Gamma, Jump *graph.Array
	Drive                    *graph.Array // what the constant current adds in a substep
	PerMV                    *graph.Array // 1/(Threshold - Rest)
}

func unitOf(s *Settings, n Neurons) unit {
	u := unit{Beta: kept(s, n.Membrane), Alpha: kept(s, n.Synapse), Gamma: kept(s, n.Adaptation),
		PerMV: n.Threshold.Sub(n.Rest).Reciprocal()}
	u.Jump = n.Jump.Mul(u.PerMV)
	u.Drive = graph.Sub(1, u.Beta).Mul(n.Drive).Mul(u.PerMV)
	return u
}

func (s *Settings) surrogate() nn.Surrogate { return nn.Surrogate{Kind: s.Surrogate} }

// prepared is a cell of package nn and what its input is made by.
type prepared[Cell any] struct {
	Cell         Cell
	Drive, PerMV *graph.Array
}

// input is what a cell takes of what arrives.
func (p prepared[Cell]) input(in Input) *graph.Array {
	return in.Sum.Mul(p.PerMV).Add(p.Drive)
}

func read[T any](op string, v any) T {
	t, ok := v.(T)
	if !ok {
		graph.Throw("spiking."+op, "got a %T, want %T, as Prepare and Start make them", v, t)
	}
	return t
}

// lif is nn.LIF.
type lif struct{ fast }

func (lif) Prepare(s *Settings, n Neurons) any {
	u := unitOf(s, n)
	return prepared[nn.LIF]{nn.LIF{Beta: u.Beta, Threshold: graph.Scalar(1), Surrogate: s.surrogate()}, u.Drive,
		u.PerMV}
}

func (lif) Start(p any) any { return graph.ZerosLike(read[prepared[nn.LIF]]("LIF", p).PerMV) }

func (lif) Spikes(p, state any) *graph.Array {
	return read[prepared[nn.LIF]]("LIF", p).Cell.Spikes(read[*graph.Array]("LIF", state))
}

func (lif) Step(p, state any, spikes *graph.Array, in Input) any {
	l := read[prepared[nn.LIF]]("LIF", p)
	return l.Cell.Take(read[*graph.Array]("LIF", state), spikes, l.input(in))
}

// cubalif is nn.CuBaLIF.
type cubalif struct{ fast }

func (cubalif) Prepare(s *Settings, n Neurons) any {
	u := unitOf(s, n)
	rise := graph.Sub(1, u.Alpha)
	cell := nn.CuBaLIF{Alpha: u.Alpha, Beta: u.Beta, Threshold: graph.Scalar(1), Surrogate: s.surrogate()}
	return prepared[nn.CuBaLIF]{cell, rise.Mul(u.Drive), rise.Mul(u.PerMV)}
}

func (cubalif) Start(p any) any {
	l := read[prepared[nn.CuBaLIF]]("CuBaLIF", p)
	// the constant current flows already
	return nn.CuBaLIFState{V: graph.ZerosLike(l.PerMV), I: l.Drive.Div(graph.Sub(1, l.Cell.Alpha))}
}

func (cubalif) Spikes(p, state any) *graph.Array {
	return read[prepared[nn.CuBaLIF]]("CuBaLIF", p).Cell.Spikes(read[nn.CuBaLIFState]("CuBaLIF", state))
}

func (cubalif) Step(p, state any, spikes *graph.Array, in Input) any {
	l := read[prepared[nn.CuBaLIF]]("CuBaLIF", p)
	return l.Cell.Take(read[nn.CuBaLIFState]("CuBaLIF", state), spikes, l.input(in))
}

// alif is nn.ALIF.
type alif struct{ fast }

func (alif) Prepare(s *Settings, n Neurons) any {
	u := unitOf(s, n)
	cell := nn.ALIF{Beta: u.Beta, Gamma: u.Gamma, Jump: u.Jump, Threshold: graph.Scalar(1), Surrogate: s.surrogate()}
	return prepared[nn.ALIF]{cell, u.Drive, u.PerMV}
}

func (alif) Start(p any) any {
	zeros := graph.ZerosLike(read[prepared[nn.ALIF]]("ALIF", p).PerMV)
	return nn.ALIFState{V: zeros, T: zeros}
}

func (alif) Spikes(p, state any) *graph.Array {
	return read[prepared[nn.ALIF]]("ALIF", p).Cell.Spikes(read[nn.ALIFState]("ALIF", state))
}

func (alif) Step(p, state any, spikes *graph.Array, in Input) any {
	l := read[prepared[nn.ALIF]]("ALIF", p)
	return l.Cell.Take(read[nn.ALIFState]("ALIF", state), spikes, l.input(in))
}
