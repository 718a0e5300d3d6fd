package neuron

import (
	"math"

	"xlarun/graph"
)

// STDP is plasticity by the timing of spikes, of all pairs (Song, Miller and Abbott, "Competitive Hebbian learning
// through spike-timing-dependent synaptic plasticity", 2000), by itself or where a reward says so (Izhikevich, "Solving
// the distal reward problem through linkage of STDP and dopamine signaling", 2007; Frémaux and Gerstner,
// "Neuromodulated spike-timing-dependent plasticity", 2016). A step of DT ms with the spikes pre [in] and post [out]:
//
//	x' = exp(-DT/TauPlus)*x, y' = exp(-DT/TauMinus)*y         traces of the spikes before this step
//	change[i,j] = APlus*x'[i]*post[j] - AMinus*pre[i]*y'[j]    spikes of one step make no pair
//	x'' = x' + pre, y'' = y' + post
//	w' = w + change                            and where it is modulated
//	c' = exp(-DT/TauC)*c + change              eligibility; the weights wait for a reward:
//	w' = w + reward*c
//
// Weights stay in Least to Most. A layer of plastic weights belongs to a step of an episode: carry the state, give the
// spikes and the reward.
type STDP struct {
	DT        float64 // ms
	APlus     float64 // in the weights' unit: what a pair adds whose first spike came right before
	AMinus    float64 // what one takes off the other way round
	TauPlus   float64 // ms
	TauMinus  float64 // ms
	Least     float64
	Most      float64
	Modulated bool    // the weights follow the eligibility where there is a reward
	TauC      float64 // ms: how long a pair is eligible
}

// NewSTDP is plasticity with time constants of 20 ms, slightly more depression than potentiation as the paper has it,
// for weights between 0 and most; rewarded, pairs are eligible for 1 s.
func NewSTDP(dt, most float64) STDP {
	return STDP{DT: dt, APlus: .005 * most, AMinus: .00525 * most, TauPlus: 20, TauMinus: 20, Most: most, TauC: 1000}
}

// STDPState is what plasticity carries.
type STDPState struct {
	W           *graph.Array // [in, out]
	Pre, Post   *graph.Array // [in] and [out]: traces
	Eligibility *graph.Array `tree:"optional"` // [in, out]; nil where it is not modulated
}

// Start is weights [in, out] before the first spike.
func (p STDP) Start(w *graph.Array) STDPState {
	const op = "neuron.STDP"
	if w == nil || w.Rank() != 2 {
		graph.Throw(op, "got weights %v, want f32[in, out]", shapeOf(w))
	}
	for _, c := range []struct {
		name  string
		value float64
	}{{"DT", p.DT}, {"TauPlus", p.TauPlus}, {"TauMinus", p.TauMinus}, {"TauC", p.TauC}} {
		if !(c.value > 0) && !(c.name == "TauC" && !p.Modulated) {
			graph.Throw(op, "got %s = %v ms, want a number above 0", c.name, c.value)
		}
	}
	if !(p.Least <= p.Most) {
		graph.Throw(op, "got weights between %v and %v, want Least at most Most", p.Least, p.Most)
	}
	zeros := func(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(w.DType(), n)) }
	s := STDPState{W: w, Pre: zeros(w.Dim(0)), Post: zeros(w.Dim(1))}
	if p.Modulated {
		s.Eligibility = graph.ZerosLike(w)
	}
	return s
}

// Step takes the spikes pre [in] and post [out] of a step.
func (p STDP) Step(s STDPState, pre, post *graph.Array) STDPState {
	decay := func(tau float64) float64 { return math.Exp(-p.DT / tau) }
	x, y := graph.Mul(decay(p.TauPlus), s.Pre), graph.Mul(decay(p.TauMinus), s.Post)
	change := outer(graph.Mul(p.APlus, x), post).Sub(outer(pre, graph.Mul(p.AMinus, y)))
	next := STDPState{W: s.W, Pre: x.Add(pre), Post: y.Add(post)}
	if p.Modulated {
		next.Eligibility = graph.Mul(decay(p.TauC), s.Eligibility).Add(change)
		return next
	}
	next.W = p.within(s.W.Add(change))
	return next
}

// Reward gives modulated plasticity a reward [], of either sign: once a step of an environment, or in each step a
// reward of so many a ms times DT.
func (p STDP) Reward(s STDPState, reward *graph.Array) STDPState {
	if !p.Modulated {
		graph.Throw("neuron.STDP", "got a reward without Modulated: set it, or give none")
	}
	s.W = p.within(s.W.Add(reward.Mul(s.Eligibility)))
	return s
}

// within keeps weights in bounds.
func (p STDP) within(w *graph.Array) *graph.Array { return graph.Clamp(p.Least, w, p.Most) }

// outer is a[i]*b[j].
func outer(a, b *graph.Array) *graph.Array {
	return a.ExpandDims(1).Mul(b.ExpandDims(0))
}

func shapeOf(a *graph.Array) string {
	if a == nil {
		return "nil"
	}
	return a.Shape().String()
}
