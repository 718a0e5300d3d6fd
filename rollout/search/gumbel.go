package search

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Gumbel is Gumbel MuZero's search, mctx's gumbel_muzero_policy: it draws actions without replacement at the root,
// halves their number until one is left, and follows the improved policy below the root. DefaultGumbel has mctx's
// numbers.
type Gumbel struct {
	Options
	Considered int     // the most actions that are tried at the root
	Scale      float64 // of the Gumbel noise; 0 for play without noise
	Transform  Transform
	Bounds     [2]float64 // of ByMinMax: the smallest and the largest Q-value
}

// DefaultGumbel returns Gumbel with a number of simulations.
func DefaultGumbel(simulations int) Gumbel {
	return Gumbel{Options: Options{Simulations: simulations}, Considered: 16, Scale: 1, Transform: ByMixedValue}
}

func (g Gumbel) options() Options { return g.resolved("search.Gumbel") }

func (g Gumbel) prepare(key random.Key, logits, invalid, noise, reusedVisits *graph.Array) (rule, *graph.Array) {
	const op = "search.Gumbel"
	if g.Considered < 1 {
		graph.Throw(op, "got %d considered actions, want 1 or more", g.Considered)
	}
	if !(g.Scale >= 0) {
		graph.Throw(op, "the draws' scale is %v, want 0 or more", g.Scale)
	}
	checkTransform(op, g.Transform, g.Bounds)
	if noise == nil {
		noise = graph.Mul(g.Scale, random.Gumbel(key, logits.Shape()))
	}
	o := g.options()
	var table []float32 // [Considered+1, Simulations]: the sequence for each number of legal actions
	for n := range g.Considered + 1 {
		table = slices.Concat(table, consideredVisits(n, o.Simulations))
	}
	legal := index(graph.Sub(1, invalid).Sum())
	sequence := graph.DynamicIndex(graph.Float32s(table, g.Considered+1, o.Simulations),
		graph.Min(g.Considered, legal), 0)
	return rule{
		settings: settings{gumbel: true, transform: g.Transform, maxDepth: o.MaxDepth, bounds: g.Bounds},
		rootInfo: rootInfo{Noise: noise, Invalid: invalid, ReusedVisits: reusedVisits, ConsideredVisits: sequence},
	}, maskInvalid(logits, invalid)
}

func (g Gumbel) decide(_ random.Key, r rule, root row, _ *graph.Array) (action, weights *graph.Array) {
	qValues := r.qTransform(root)
	visits := root.block(childVisits).Sub(r.ReusedVisits)
	scores := r.scoreConsidered(root, qValues, visits, visits.ReduceMax())
	action = graph.ArgMax(graph.Select(r.Invalid.Gt(0), minusInf, scores), 0)
	improved := maskInvalid(root.block(priorLogits).Add(qValues), r.Invalid)
	return action, graph.Softmax(improved, 0)
}
