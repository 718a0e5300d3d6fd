package search

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// PUCT is AlphaZero's and MuZero's search, mctx's muzero_policy: it selects by Q-value and prior, with Dirichlet noise
// in the root's prior. DefaultPUCT has mctx's numbers.
type PUCT struct {
	Options
	Fraction   float64 // of the noise in the root's prior, 0 to 1
	Alpha      float64 // concentration of the noise, above 0
	Init, Base float64 // the prior's weight is Init + log((visits + Base + 1) / Base)
	Transform  Transform
	Bounds     [2]float64 // of ByMinMax: the smallest and the largest Q-value
}

// DefaultPUCT returns PUCT with a number of simulations.
func DefaultPUCT(simulations int) PUCT {
	return PUCT{Options: Options{Simulations: simulations}, Fraction: .25, Alpha: .3, Init: 1.25, Base: 19652}
}

func (p PUCT) options() Options { return p.resolved("search.PUCT") }

func (p PUCT) prepare(key random.Key, logits, invalid, noise, reusedVisits *graph.Array) (rule, *graph.Array) {
	const op = "search.PUCT"
	switch {
	case !(p.Fraction >= 0 && p.Fraction <= 1):
		graph.Throw(op, "the noise's fraction is %v, want 0 to 1", p.Fraction)
	case p.Fraction > 0 && !(p.Alpha > 0):
		graph.Throw(op, "the noise's concentration is %v, want a number above 0", p.Alpha)
	case !(p.Base > 0):
		graph.Throw(op, "Base is %v, want a number above 0, as in DefaultPUCT", p.Base)
	}
	checkTransform(op, p.Transform, p.Bounds)
	tieKey, noiseKey := random.Split2(key)
	prior := graph.Softmax(finite(logits), 0)
	if p.Fraction > 0 {
		if noise == nil {
			noise = random.Dirichlet(noiseKey, graph.FullLike(logits, p.Alpha))
		}
		prior = graph.Mul(1-p.Fraction, prior).Add(graph.Mul(p.Fraction, noise))
	}
	r := rule{settings: p.settings(), rootInfo: rootInfo{
		Noise: random.Uniform(tieKey, logits.Shape(), 0, 1), Invalid: invalid,
		ReusedVisits: reusedVisits, ConsideredVisits: graph.Float32s([]float32{0})}}
	return r, maskInvalid(prior.Max(smallest).Log(), invalid)
}

func (p PUCT) settings() settings {
	return settings{transform: p.Transform, maxDepth: p.options().MaxDepth, init: p.Init, base: p.Base,
		bounds: p.Bounds}
}

func (p PUCT) decide(key random.Key, r rule, root row, temperature *graph.Array) (action, weights *graph.Array) {
	invalid := r.Invalid.Gt(0)
	visits := graph.Select(invalid, 0, root.block(childVisits))
	total := visits.Sum()
	weights = graph.Select(total.Gt(0), visits.Div(total.Max(1)), 1/float64(root.actions))
	logits := weights.Max(smallest).Log()
	if temperature != nil {
		logits = logits.Sub(logits.ReduceMax()).Div(temperature.Max(smallest))
	}
	return random.Categorical(key, graph.Select(invalid, minusInf, replaceNaN(logits)), 0), weights
}
