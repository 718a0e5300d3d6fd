package qd

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Annealing makes the thresholds of an archive rise slowly, so that a search stays longer in a cell (CMA-MAE of
// Fontaine and Nikolaidis, "Covariance matrix adaptation MAP-annealing", 2023). With k members of mean fitness m
// accepted in a cell, its threshold t becomes (1-Rate)ᵏ·t + (1 - (1-Rate)ᵏ)·m, as in pyribs 0.12. Unlike there, the
// archive always keeps the best member of a cell: there is no second archive of results.
type Annealing struct {
	Rate settings.Number `set:"learning-rate" min:"0" max:"1" help:"how far the threshold of a cell moves to the fitness of accepted members (CMA-MAE); 1: the threshold is the elite's fitness (MAP-Elites)"`
	Min  settings.Number `set:"threshold-min" needs:"learning-rate=!1" help:"threshold of empty cells, with a learning rate below 1"`
}

// first returns the threshold of an empty cell, f32[].
func (a Annealing) first() *graph.Array {
	return graph.Select(a.Rate.Array().Lt(1), a.Min.Array(), math.Inf(-1))
}

// next returns the thresholds after an insertion, given the elites' fitness after it. Without annealing they are that
// fitness, and the sums over all cells, which many cells make slow, are not computed.
func (a Annealing) next(threshold, fitness *graph.Array, b Batch, accepted *graph.Array) *graph.Array {
	annealed := func() *graph.Array {
		zeros, of := graph.ZerosLike(threshold), graph.Select(accepted, b.Cell, threshold.Dim(0))
		count := graph.ScatterAdd(zeros, of, graph.OnesLike(b.Fitness))
		mean := graph.ScatterAdd(zeros, of, b.Fitness).Div(count)
		stays := graph.Sub(1, a.Rate.Array()).Pow(count)
		moved := stays.Mul(threshold).Add(graph.Sub(1, stays).Mul(mean))
		return graph.Select(count.Gt(0), moved, threshold)
	}
	return graph.Cond(a.Rate.Array().Lt(1), annealed, func() *graph.Array { return fitness })
}
