package search

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// PUCT chooses by value and prior, with Dirichlet noise in the root's prior: AlphaZero's and MuZero's search. DefaultPUCT has mctx's
// numbers.
type PUCT struct {
	Options
	Fraction   float64 // of the noise in the root's prior, 0 to 1
	Alpha      float64 // concentration of the noise, above 0
	Init, Base float64 // the prior's weight is Init + log((visits + Base + 1) / Base)
	Transform  Transform
	Bounds     [2]float64 // of ByMinMax: the least and the greatest value
}

// DefaultPUCT is PUCT with so many simulations.
func DefaultPUCT(simulations int) PUCT {
	return PUCT{Options: Options{Simulations: simulations}, Fraction: .25, Alpha: .3, Init: 1.25, Base: 19652}
}

func (p PUCT) options() Options { return p.resolved("search.PUCT") }

func (p PUCT) prepare(key random.Key, logits, closed, noise, before *graph.Array) (rule, *graph.Array) {
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
	ties, draws := random.Split2(key)
	probabilities := graph.Softmax(finite(logits), 0)
	if p.Fraction > 0 {
		if noise == nil {
			noise = random.Dirichlet(draws, graph.FullLike(logits, p.Alpha))
		}
		probabilities = graph.Add(graph.Mul(1-p.Fraction, probabilities), graph.Mul(p.Fraction, noise))
	}
	r := rule{p.settings(), arrays{Noise: random.Uniform(ties, logits.Shape(), 0, 1), Closed: closed, Before: before, Considered: graph.Float32s([]float32{0})}}
	return r, masked(graph.Log(graph.Max(probabilities, smallest)), closed)
}

func (p PUCT) settings() settings {
	return settings{transform: p.Transform, maxDepth: p.options().MaxDepth, init: p.Init, base: p.Base, bounds: p.Bounds}
}

func (p PUCT) decide(key random.Key, r rule, root row, temperature *graph.Array) (action, weights *graph.Array) {
	closed := graph.Gt(r.Closed, 0)
	counts := graph.Select(closed, 0, root.block(countsBlock))
	total := graph.Sum(counts)
	weights = graph.Select(graph.Gt(total, 0), graph.Div(counts, graph.Max(total, 1)), 1/float64(root.actions))
	logits := graph.Log(graph.Max(weights, smallest))
	if temperature != nil {
		logits = graph.Div(graph.Sub(logits, graph.ReduceMax(logits)), graph.Max(temperature, smallest))
	}
	return random.Categorical(key, graph.Select(closed, minusInf, numbered(logits)), 0), weights
}

// masked gives actions that may not be played the least finite logit: where none may be, softmax stays finite.
func masked(logits, closed *graph.Array) *graph.Array {
	shut := graph.Gt(closed, 0)
	logits = graph.Select(shut, -math.MaxFloat32, finite(logits))
	return graph.Select(shut, -math.MaxFloat32, graph.Sub(logits, graph.ReduceMax(logits)))
}

// finite bounds logits by the finite numbers, NaN by the least: one that is no number leaves the others' shares as they are.
func finite(logits *graph.Array) *graph.Array {
	return graph.Min(numbered(logits), math.MaxFloat32)
}

func checkTransform(op string, t Transform, bounds [2]float64) {
	if t < BySiblings || t > ByMixedValue {
		graph.Throw(op, "got the transform %d, want BySiblings, ByMinMax or ByMixedValue", t)
	}
	if t == ByMinMax && !(bounds[0] < bounds[1]) {
		graph.Throw(op, "values are bounded by %v and %v, want the least and the greatest for ByMinMax", bounds[0], bounds[1])
	}
}
