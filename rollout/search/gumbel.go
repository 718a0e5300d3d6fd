package search

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Gumbel draws actions without replacement at the root, halves them until one is left, and below follows the policy that the completed
// values improve: Gumbel MuZero's search. DefaultGumbel has mctx's numbers.
type Gumbel struct {
	Options
	Considered int     // the most actions that are tried at the root
	Scale      float64 // of the draws; 0 for play without chance
	Transform  Transform
	Bounds     [2]float64 // of ByMinMax: the least and the greatest value
}

// DefaultGumbel is Gumbel with so many simulations.
func DefaultGumbel(simulations int) Gumbel {
	return Gumbel{Options: Options{Simulations: simulations}, Considered: 16, Scale: 1, Transform: ByMixedValue}
}

func (g Gumbel) options() Options { return g.resolved("search.Gumbel") }

func (g Gumbel) prepare(key random.Key, logits, closed, noise, before *graph.Array) (rule, *graph.Array) {
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
	var table []float32
	for m := range g.Considered + 1 {
		table = slices.Concat(table, halving(m, o.Simulations))
	}
	open := whole(graph.Sum(graph.Sub(1, closed)))
	considered := graph.DynamicIndex(graph.Float32s(table, g.Considered+1, o.Simulations), graph.Min(g.Considered, open), 0)
	r := rule{settings{gumbel: true, transform: g.Transform, maxDepth: o.MaxDepth, bounds: g.Bounds},
		arrays{Noise: noise, Closed: closed, Before: before, Considered: considered}}
	return r, masked(logits, closed)
}

func (g Gumbel) decide(_ random.Key, r rule, root row, _ *graph.Array) (action, weights *graph.Array) {
	values := r.transformed(root)
	now := graph.Sub(root.block(countsBlock), r.Before)
	scores := r.considered(root, values, now, graph.ReduceMax(now))
	action = graph.ArgMax(graph.Select(graph.Gt(r.Closed, 0), minusInf, scores), 0)
	improved := masked(graph.Add(root.block(logitsBlock), values), r.Closed)
	return action, graph.Softmax(improved, 0)
}
