package neuron

import (
	"math"

	"xlarun/graph"
)

// STDP is spike-timing-dependent plasticity over all pairs of spikes (Song, Miller and Abbott, "Competitive Hebbian
// learning through spike-timing-dependent synaptic plasticity", 2000). Modulated, weights change only with a reward
// (Izhikevich, "Solving the distal reward problem through linkage of STDP and dopamine signaling", 2007; Frémaux and
// Gerstner, "Neuromodulated spike-timing-dependent plasticity", 2016). A step of DT ms with the spikes pre [in] and
// post [out] is
//
//	x' = exp(-DT/TauPlus)*x, y' = exp(-DT/TauMinus)*y         traces of the spikes before this step
//	change[i,j] = APlus*x'[i]*post[j] - AMinus*pre[i]*y'[j]    spikes of one step are not a pair
//	x'' = x' + pre, y'' = y' + post
//	w' = w + change
//
// Modulated, Step updates the eligibility c, and Reward the weights:
//
//	c' = exp(-DT/TauC)*c + change
//	w' = w + reward*c
//
// Weights are clipped to Least … Most.
type STDP struct {
	DT        float64 // ms
	APlus     float64 // largest increase by a pair pre, post; in the weights' unit
	AMinus    float64 // largest decrease by a pair post, pre
	TauPlus   float64 // ms
	TauMinus  float64 // ms
	Least     float64
	Most      float64
	Modulated bool    // weights change by Reward only
	TauC      float64 // ms: decay of the eligibility
}

// NewSTDP has time constants of 20 ms, slightly more depression than potentiation (as in the paper), weights in 0 …
// most, and an eligibility of 1 s.
func NewSTDP(dt, most float64) STDP {
	return STDP{DT: dt, APlus: .005 * most, AMinus: .00525 * most, TauPlus: 20, TauMinus: 20, Most: most, TauC: 1000}
}

// STDPState is the weights, traces and eligibility.
type STDPState struct {
	W           *graph.Array // [in, out]
	Pre, Post   *graph.Array // [in] and [out]: traces
	Eligibility *graph.Array `tree:"optional"` // [in, out]; nil unless Modulated
}

// Start is the state with weights [in, out] before the first spike.
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

// Step updates the state by the spikes pre [in] and post [out] of a step.
func (p STDP) Step(s STDPState, pre, post *graph.Array) STDPState {
	decay := func(tau float64) float64 { return math.Exp(-p.DT / tau) }
	x, y := graph.Mul(decay(p.TauPlus), s.Pre), graph.Mul(decay(p.TauMinus), s.Post)
	change := outer(graph.Mul(p.APlus, x), post).Sub(outer(pre, graph.Mul(p.AMinus, y)))
	next := STDPState{W: s.W, Pre: x.Add(pre), Post: y.Add(post)}
	if p.Modulated {
		next.Eligibility = graph.Mul(decay(p.TauC), s.Eligibility).Add(change)
		return next
	}
	next.W = p.clip(s.W.Add(change))
	return next
}

// Reward applies a reward [] to the weights of modulated plasticity. Call it once in each step of an environment, or in
// each step of DT ms with a reward rate times DT.
func (p STDP) Reward(s STDPState, reward *graph.Array) STDPState {
	if !p.Modulated {
		graph.Throw("neuron.STDP", "got a reward, but Modulated is false: set it, or do not call Reward")
	}
	s.W = p.clip(s.W.Add(reward.Mul(s.Eligibility)))
	return s
}

// clip clips weights to Least … Most.
func (p STDP) clip(w *graph.Array) *graph.Array { return graph.Clamp(p.Least, w, p.Most) }

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
