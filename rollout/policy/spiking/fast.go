package spiking

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("fast", lif)
	MustRegister("fast:alif", alif)
	MustRegister("fast:cubalif", cubalif)
}

// fast is a dynamics whose neurons are a cell of package nn. Potentials are differences from Rest, in units of the
// distance to the threshold:
//
//	u         = (v - Rest)/(Threshold - Rest)        the threshold is 1; a spike subtracts 1, so that Reset is Rest
//	Beta      = exp(-dt/Membrane)
//	Alpha     = exp(-dt/Synapse)                     cubalif
//	Gamma     = exp(-dt/Adaptation)                  alif
//	Jump      = Jump/(Threshold - Rest)              alif
//	x         = (weights + (1 - Beta)*Drive)/(Threshold - Rest)
//	x         = ((1 - Alpha)*weights + (1 - Alpha)*(1 - Beta)*Drive)/(Threshold - Rest)
//	                                                 cubalif: its current sums up to the weights
type fast[State any, Cell cell[State]] struct {
	prepare   func(u unit, surrogate nn.Surrogate) prepared[Cell]
	start     func(p prepared[Cell]) State
	potential func(s State) *graph.Array
}

// cell is a layer of neurons of package nn.
type cell[State any] interface {
	Spikes(s State) *graph.Array
	Integrate(s State, spikes, in *graph.Array) State
}

// prepared is a cell and the map from what arrives to its input.
type prepared[Cell any] struct {
	Cell         Cell
	Drive, PerMV *graph.Array
}

// lif is nn.LIF.
var lif = fast[*graph.Array, nn.LIF]{
	prepare: func(u unit, surrogate nn.Surrogate) prepared[nn.LIF] {
		cell := nn.LIF{Beta: u.Beta, Threshold: graph.Scalar(1), Surrogate: surrogate}
		return prepared[nn.LIF]{cell, u.Drive, u.PerMV}
	},
	start:     func(p prepared[nn.LIF]) *graph.Array { return graph.ZerosLike(p.PerMV) },
	potential: func(v *graph.Array) *graph.Array { return v },
}

// cubalif is nn.CuBaLIF.
var cubalif = fast[nn.CuBaLIFState, nn.CuBaLIF]{
	prepare: func(u unit, surrogate nn.Surrogate) prepared[nn.CuBaLIF] {
		rise := graph.Sub(1, u.Alpha)
		cell := nn.CuBaLIF{Alpha: u.Alpha, Beta: u.Beta, Threshold: graph.Scalar(1), Surrogate: surrogate}
		return prepared[nn.CuBaLIF]{cell, rise.Mul(u.Drive), rise.Mul(u.PerMV)}
	},
	start: func(p prepared[nn.CuBaLIF]) nn.CuBaLIFState { // the constant current flows already
		return nn.CuBaLIFState{V: graph.ZerosLike(p.PerMV), I: p.Drive.Div(graph.Sub(1, p.Cell.Alpha))}
	},
	potential: func(s nn.CuBaLIFState) *graph.Array { return s.V },
}

// alif is nn.ALIF.
var alif = fast[nn.ALIFState, nn.ALIF]{
	prepare: func(u unit, surrogate nn.Surrogate) prepared[nn.ALIF] {
		cell := nn.ALIF{Beta: u.Beta, Gamma: u.Gamma, Jump: u.Jump, Threshold: graph.Scalar(1), Surrogate: surrogate}
		return prepared[nn.ALIF]{cell, u.Drive, u.PerMV}
	},
	start: func(p prepared[nn.ALIF]) nn.ALIFState {
		zeros := graph.ZerosLike(p.PerMV)
		return nn.ALIFState{V: zeros, T: zeros}
	},
	potential: func(s nn.ALIFState) *graph.Array { return s.V },
}

func (fast[State, Cell]) BySign() bool { return false }

func (fast[State, Cell]) Check(s *Settings, prefix string) error {
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

func (d fast[State, Cell]) Prepare(s *Settings, n Neurons) any {
	u := unit{Beta: decay(s, n.Membrane), Alpha: decay(s, n.Synapse), Gamma: decay(s, n.Adaptation),
		PerMV: n.Threshold.Sub(n.Rest).Reciprocal()}
	u.Jump = n.Jump.Mul(u.PerMV)
	u.Drive = graph.Sub(1, u.Beta).Mul(n.Drive).Mul(u.PerMV)
	return d.prepare(u, s.surrogate())
}

func (d fast[State, Cell]) Start(p any) any { return d.start(read[prepared[Cell]]("Start", p)) }

func (fast[State, Cell]) Spikes(p, state any) *graph.Array {
	return read[prepared[Cell]]("Spikes", p).Cell.Spikes(read[State]("Spikes", state))
}

func (fast[State, Cell]) Step(p, state any, spikes *graph.Array, in Input) any {
	l := read[prepared[Cell]]("Step", p)
	return l.Cell.Integrate(read[State]("Step", state), spikes, in.Sum.Mul(l.PerMV).Add(l.Drive))
}

// Potential is that of the state.
func (d fast[State, Cell]) Potential(n Neurons, state any) *graph.Array {
	u := d.potential(read[State]("Potential", state))
	return n.Rest.Add(u.Mul(n.Threshold.Sub(n.Rest)))
}

// unit holds the values of neurons in the units of fast, f32[units] each.
type unit struct {
	Beta, Alpha, Gamma, Jump *graph.Array
	Drive                    *graph.Array // input from the constant current in a substep
	PerMV                    *graph.Array // 1/(Threshold - Rest)
}

func (s *Settings) surrogate() nn.Surrogate { return nn.Surrogate{Kind: s.Surrogate} }

func read[T any](op string, v any) T {
	t, ok := v.(T)
	if !ok {
		graph.Throw("spiking."+op, "got a %T, want %T, as Prepare and Start make them", v, t)
	}
	return t
}
