package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// ALIF is a layer of LIF neurons whose threshold rises with each spike and comes back (Bellec et al., "Long short-term
// memory and learning-to-learn in networks of spiking neurons", 2018), as spyx.nn.ALIF has them:
//
//	h = Threshold + t
//	s = 1 where v > h, else 0
//	v' = Beta*v + x + s·Wh - s*h
//	t' = Gamma*t + Jump*s        Jump is 1-Gamma where it is nil, as in Spyx
type ALIF struct {
	Beta      *graph.Array // [units] or []; see LIF
	Gamma     *graph.Array // [units] or []: what is left of the adaptation after a step
	Jump      *graph.Array `tree:"optional"` // [units] or []: what a spike raises the threshold by
	Threshold *graph.Array // [units] or []
	Wh        *graph.Array `tree:"optional"` // [units, units]; see LIF
	Surrogate Surrogate
}

// ALIFState is the potentials and how far the thresholds are up, [units] each.
type ALIFState struct{ V, T *graph.Array }

// NewALIF makes a layer of so many units, Beta and Gamma drawn as NewLIF draws Beta. Options: Decay (Beta's),
// Adaptation (Gamma's), Threshold, Spikes, Feedback, Recurrent.
func NewALIF(key random.Key, units int, opts ...Option) ALIF {
	const op = "nn.NewALIF"
	c := readOptions(op, append([]Option{Recurrent(spikeWeights)}, opts...), "Decay", "Adaptation", "Threshold",
		"Spikes", "Feedback", "Recurrent")
	wantSize(op, "units", units)
	k := random.SplitN(key, 3)
	return ALIF{Beta: c.decay(op, k[0], units), Gamma: c.second(op, "Adaptation", k[1], units), Threshold: c.firing(op),
		Wh: c.feedbackOf(k[2], units), Surrogate: c.surrogate}
}

// Start is the state before the first step of so many units at rest: zeros.
func (l ALIF) Start(units int) ALIFState {
	wantParam("nn.ALIF", "Threshold", l.Threshold)
	zeros := graph.Zeros(graph.ShapeOf(l.Threshold.DType(), units))
	return ALIFState{zeros, zeros}
}

// Step maps the state and an input x [units] to the next state and this step's spikes.
func (l ALIF) Step(s ALIFState, x *graph.Array) (next ALIFState, spikes *graph.Array) {
	spikes = l.Spikes(s)
	return l.Take(s, spikes, x), spikes
}

// Spikes are those of a step, [units]; see LIF.Spikes.
func (l ALIF) Spikes(s ALIFState) *graph.Array {
	return l.Surrogate.Spike(s.V.Sub(l.Threshold.Add(s.T)))
}

// Take is the rest of Step; see LIF.Take.
func (l ALIF) Take(s ALIFState, spikes, x *graph.Array) ALIFState {
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
