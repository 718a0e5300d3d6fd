package run

import (
	"math"

	"xlarun/rollout/episode"
)

// Evaluation is what an evaluation finds.
type Evaluation struct {
	Return   float64 // mean of the episodes that did not fail; -Inf if all failed
	Error    float64 // standard error of Return; NaN of fewer than two such episodes
	Episodes float64 // number of episodes, those that failed too
	Failed   float64 // number of episodes whose return is not finite
}

// NewEvaluation returns the evaluation of members that played so many episodes each. v has three numbers for each
// member: episode.Summary.Finite.
func NewEvaluation(v []float64, episodes int) Evaluation {
	n, sum, squares := 0., 0., 0.
	for i := 0; i < len(v); i += 3 {
		n, sum = n+v[i], sum+v[i]*v[i+1]
	}
	mean := sum / n
	for i := 0; i < len(v); i += 3 {
		squares += v[i+2] + v[i]*(v[i+1]-mean)*(v[i+1]-mean)
	}
	e := Evaluation{mean, math.NaN(), float64(len(v) / 3 * episodes), 0}
	if e.Failed = e.Episodes - n; n == 0 {
		e.Return = math.Inf(-1)
	} else if n > 1 {
		e.Error = math.Sqrt(squares / (n - 1) / n)
	}
	return e
}

// EvaluationOf returns the evaluation of episodes with these returns.
func EvaluationOf(returns []float64) Evaluation {
	var v []float64
	for _, x := range returns {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			v = append(v, 0, 0, 0)
		} else {
			v = append(v, 1, x, 0)
		}
	}
	return NewEvaluation(v, 1)
}

// EvalNames are the metrics of an evaluation, in the order of Evaluation's fields.
func EvalNames() []string { return []string{EvalReturn, EvalError, EvalEpisodes, EvalFailed} }

// Values returns the metrics.
func (e Evaluation) Values() []Value {
	return []Value{{EvalReturn, e.Return}, {EvalError, e.Error}, {EvalEpisodes, e.Episodes}, {EvalFailed, e.Failed}}
}

// Compare is episode.EvalResult.Compare: fewer failures are better, then the larger mean.
func (e Evaluation) Compare(other Evaluation) int {
	return episode.EvalResult{Mean: e.Return, Failed: int(e.Failed)}.Compare(
		episode.EvalResult{Mean: other.Return, Failed: int(other.Failed)})
}

// EvalReached reports whether an evaluation with these metrics, NaN if they are not known, has reached a target: it has
// not if an episode failed.
func EvalReached(metric func(name string) float64, target float64) bool {
	x := metric(EvalReturn)
	return metric(EvalFailed) == 0 && x >= target && !math.IsInf(x, 0)
}

// EvalRow returns the display's row of the newest evaluation, with the target behind its mean.
func EvalRow(goal string) DisplayRow {
	row := DisplayRow{Label: "eval", Plain: true, Gaps: true, Curve: EvalReturn, Color: "green",
		Parts: []Part{{Metric: EvalReturn}, {Before: " ± ", Metric: EvalError}}}
	if goal != "" {
		row.Parts = append(row.Parts, Part{Behind: goal})
	}
	return row
}
