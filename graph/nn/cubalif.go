package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// CuBaLIF is a layer of current-based LIF neurons: inputs add to a synaptic current, which decays. The equations are
// those in spyx.nn.CuBaLIF:
//
//	s = 1 where v > Threshold, else 0
//	i' = Alpha*i + x + s·Wh
//	v' = Beta*(v - s*Threshold) + i'
type CuBaLIF struct {
	Alpha     *graph.Array // [units] or []: the decay of the current in one step, exp(-dt/tau)
	Beta      *graph.Array // [units] or []; see LIF
	Threshold *graph.Array // [units] or []
	Wh        *graph.Array `tree:"optional"` // [units, units]; see LIF
	Surrogate Surrogate
}

// CuBaLIFState is the potentials and the synaptic currents, [units] each.
type CuBaLIFState struct{ V, I *graph.Array }

// NewCuBaLIF makes a layer. It draws Alpha and Beta as NewLIF draws Beta. Options: Decay (Beta), Synapse (Alpha),
// Threshold, Spikes, Feedback, Recurrent.
func NewCuBaLIF(key random.Key, units int, opts ...Option) CuBaLIF {
	p := newSpiking("nn.NewCuBaLIF", key, units, "Synapse", opts)
	return CuBaLIF{Alpha: p.second, Beta: p.beta, Threshold: p.threshold, Wh: p.wh, Surrogate: p.surrogate}
}

// Start is the state at rest: zeros.
func (l CuBaLIF) Start(units int) CuBaLIFState {
	zeros := atRest("nn.CuBaLIF", "Threshold", l.Threshold, units)
	return CuBaLIFState{zeros, zeros}
}

// Step maps the state and an input x [units] to the next state and this step's spikes.
func (l CuBaLIF) Step(s CuBaLIFState, x *graph.Array) (next CuBaLIFState, spikes *graph.Array) {
	spikes = l.Spikes(s)
	return l.Integrate(s, spikes, x), spikes
}

// Spikes returns this step's spikes [units]; see LIF.Spikes.
func (l CuBaLIF) Spikes(s CuBaLIFState) *graph.Array { return l.Surrogate.Spike(s.V.Sub(l.Threshold)) }

// Integrate is the second half of Step; see LIF.Integrate.
func (l CuBaLIF) Integrate(s CuBaLIFState, spikes, x *graph.Array) CuBaLIFState {
	wantState("nn.CuBaLIF", "state V", s.V, x)
	wantState("nn.CuBaLIF", "state I", s.I, x)
	i := decayed(l.Alpha).Mul(s.I).Add(feedback(x, spikes, l.Wh))
	v := s.V.Sub(spikes.Mul(l.Threshold))
	return CuBaLIFState{decayed(l.Beta).Mul(v).Add(i), i}
}

// Apply runs along time: from a state and inputs x [steps, units] to the last state and all spikes [steps, units].
func (l CuBaLIF) Apply(s CuBaLIFState, x *graph.Array) (last CuBaLIFState, spikes *graph.Array) {
	wantTime("nn.CuBaLIF", x)
	return graph.Scan(l.Step, s, x)
}
