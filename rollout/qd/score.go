package qd

import (
	"math"

	"xlarun/graph"
)

// Score sums an archive up.
type Score struct {
	Coverage *graph.Array // f32[]: share of the cells that have an elite
	QD       *graph.Array // f32[]: sum of the elites' fitness, each plus an offset
	Best     *graph.Array // f32[]: the highest fitness; -Inf of an empty archive
	Mean     *graph.Array // f32[]: of the elites; NaN of an empty archive
}

// Score returns coverage and QD score (Pugh et al., "Quality diversity: a new frontier for evolutionary computation",
// 2016). With an offset below which no fitness lies, filling a cell never lowers the QD score.
func (a Elites) Score(offset *graph.Array) Score {
	filled := a.Fitness.Gt(math.Inf(-1))
	sum := graph.Select(filled, a.Fitness, graph.ZerosLike(a.Fitness)).Sum()
	count := a.Count.Convert(graph.Float32)
	return Score{Coverage: count.Div(float32(a.Cells())), QD: sum.Add(offset.Mul(count)), Best: a.Fitness.ReduceMax(),
		Mean: sum.Div(count)}
}

// elitesMetrics are the names of what Elites.Metrics returns.
var elitesMetrics = []string{"coverage", "qd_score", "best_fitness", "elite_mean", "new_cells", "improved"}

// Metrics returns the numbers of elitesMetrics.
func (a Elites) Metrics(c Change, s Scoring) []*graph.Array {
	score := a.Score(s.Offset.Array())
	return []*graph.Array{score.Coverage, score.QD, score.Best, score.Mean, count(c.New),
		count(c.Added.And(c.New.Not()))}
}

// count returns how many of a mask are true, f32[].
func count(mask *graph.Array) *graph.Array { return mask.Convert(graph.Float32).Sum() }
