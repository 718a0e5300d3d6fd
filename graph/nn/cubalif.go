package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// CuBaLIF is a layer of current-based LIF neurons: inputs leave a current behind that decays by itself, as
// spyx.nn.CuBaLIF has them:
//
//	s = 1 where v > Threshold, else 0
//	i' = Alpha*i + x + s·Wh
//	v' = Beta*(v - s*Threshold) + i'
type CuBaLIF struct {
	Alpha     *graph.Array // [units] or []: what is left of a current after a step, exp(-dt/tau)
	Beta      *graph.Array // [units] or []; see LIF
	Threshold *graph.Array // [units] or []
	Wh        *graph.Array `tree:"optional"` // [units, units]; see LIF
	Surrogate Surrogate
}

// CuBaLIFState is the potentials and the synaptic currents, [units] each.
type CuBaLIFState struct{ V, I *graph.Array }

// NewCuBaLIF makes a layer of so many units, Alpha and Beta drawn as NewLIF draws Beta. Options: Decay (Beta's),
// Synapse (Alpha's), Threshold, Spikes, Feedback, Recurrent.
func NewCuBaLIF(key random.Key, units int, opts ...Option) CuBaLIF {
	const op = "nn.NewCuBaLIF"
	c := readOptions(op, append([]Option{Recurrent(spikeWeights)}, opts...), "Decay", "Synapse", "Threshold", "Spikes",
		"Feedback", "Recurrent")
	wantSize(op, "units", units)
	k := random.SplitN(key, 3)
	return CuBaLIF{Beta: c.decay(op, k[0], units), Alpha: c.second(op, "Synapse", k[1], units), Threshold: c.firing(op),
		Wh: c.feedbackOf(k[2], units), Surrogate: c.surrogate}
}

// Start is the state before the first step of so many units at rest: zeros.
func (l CuBaLIF) Start(units int) CuBaLIFState {
	wantParam("nn.CuBaLIF", "Threshold", l.Threshold)
	zeros := graph.Zeros(graph.ShapeOf(l.Threshold.DType(), units))
	return CuBaLIFState{zeros, zeros}
}

// Step maps the state and an input x [units] to the next state and this step's spikes.
func (l CuBaLIF) Step(s CuBaLIFState, x *graph.Array) (next CuBaLIFState, spikes *graph.Array) {
	spikes = l.Spikes(s)
	return l.Take(s, spikes, x), spikes
}

// Spikes are those of a step, [units]; see LIF.Spikes.
func (l CuBaLIF) Spikes(s CuBaLIFState) *graph.Array {
	return l.Surrogate.Spike(s.V.Sub(l.Threshold))
}

// Take is the rest of Step; see LIF.Take.
func (l CuBaLIF) Take(s CuBaLIFState, spikes, x *graph.Array) CuBaLIFState {
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
