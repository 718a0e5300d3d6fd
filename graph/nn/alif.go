package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// ALIF is a layer of LIF neurons with an adaptive threshold: each spike raises it, then it decays back (Bellec et al.,
// "Long short-term memory and learning-to-learn in networks of spiking neurons", 2018). The equations are those in
// spyx.nn.ALIF:
//
//	h = Threshold + t
//	s = 1 where v > h, else 0
//	v' = Beta*v + x + s·Wh - s*h
//	t' = Gamma*t + Jump*s
type ALIF struct {
	Beta      *graph.Array // [units] or []; see LIF
	Gamma     *graph.Array // [units] or []: the decay of the adaptation in one step
	Jump      *graph.Array `tree:"optional"` // [units] or []: each spike raises the threshold by it; nil: 1-Gamma
	Threshold *graph.Array // [units] or []
	Wh        *graph.Array `tree:"optional"` // [units, units]; see LIF
	Surrogate Surrogate
}

// ALIFState is the potentials V and the rises T of the thresholds, [units] each.
type ALIFState struct{ V, T *graph.Array }

// NewALIF makes a layer. It draws Beta and Gamma as NewLIF draws Beta. Options: Decay (Beta), Adaptation (Gamma),
// Threshold, Spikes, Feedback, Recurrent.
func NewALIF(key random.Key, units int, opts ...Option) ALIF {
	p := newSpiking("nn.NewALIF", key, units, "Adaptation", opts)
	return ALIF{Beta: p.beta, Gamma: p.second, Threshold: p.threshold, Wh: p.wh, Surrogate: p.surrogate}
}

// Start is the state at rest: zeros.
func (l ALIF) Start(units int) ALIFState {
	zeros := atRest("nn.ALIF", "Threshold", l.Threshold, units)
	return ALIFState{zeros, zeros}
}

// Step maps the state and an input x [units] to the next state and this step's spikes.
func (l ALIF) Step(s ALIFState, x *graph.Array) (next ALIFState, spikes *graph.Array) {
	spikes = l.Spikes(s)
	return l.Integrate(s, spikes, x), spikes
}

// Spikes returns this step's spikes [units]; see LIF.Spikes.
func (l ALIF) Spikes(s ALIFState) *graph.Array {
	return l.Surrogate.Spike(s.V.Sub(l.Threshold.Add(s.T)))
}

// Integrate is the second half of Step; see LIF.Integrate.
func (l ALIF) Integrate(s ALIFState, spikes, x *graph.Array) ALIFState {
	wantState("nn.ALIF", "state V", s.V, x)
	wantState("nn.ALIF", "state T", s.T, x)
	gamma := decayed(l.Gamma)
	jump := l.Jump
	if jump == nil {
		jump = graph.Sub(1, gamma)
	}
	v := decayed(l.Beta).Mul(s.V).Add(feedback(x, spikes, l.Wh))
	t := gamma.Mul(s.T).Add(jump.Mul(spikes))
	return ALIFState{v.Sub(spikes.Mul(l.Threshold.Add(s.T))), t}
}

// Apply runs along time: from a state and inputs x [steps, units] to the last state and all spikes [steps, units].
func (l ALIF) Apply(s ALIFState, x *graph.Array) (last ALIFState, spikes *graph.Array) {
	wantTime("nn.ALIF", x)
	return graph.Scan(l.Step, s, x)
}
