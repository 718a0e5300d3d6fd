package run

import (
	"fmt"
	"math"

	"xlarun/envs"
	"xlarun/rollout/episode"
)

// NewEvaluation returns the score of an evaluation by members that played so many episodes each. v has three numbers
// for each member: episode.Summary.Finite. The mean is -Inf if all episodes failed, and the error is NaN if fewer than
// two did not.
func NewEvaluation(v []float64, episodes int) episode.EvalScore {
	n, sum, squares := 0., 0., 0.
	for i := 0; i < len(v); i += 3 {
		n, sum = n+v[i], sum+v[i]*v[i+1]
	}
	mean := sum / n
	for i := 0; i < len(v); i += 3 {
		squares += v[i+2] + v[i]*(v[i+1]-mean)*(v[i+1]-mean)
	}
	e := episode.EvalScore{Mean: mean, Error: math.NaN(), Episodes: len(v) / 3 * episodes}
	if e.Failed = e.Episodes - int(n); n == 0 {
		e.Mean = math.Inf(-1)
	} else if n > 1 {
		e.Error = math.Sqrt(squares / (n - 1) / n)
	}
	return e
}

// EvaluationOf returns the score of episodes with these returns.
func EvaluationOf(returns []float64) episode.EvalScore {
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

// EvalNames are the metrics of an evaluation.
func EvalNames() []string { return []string{EvalReturn, EvalError, EvalEpisodes, EvalFailed} }

// EvalValues returns the metrics of an evaluation, in the order of EvalNames.
func EvalValues(e episode.EvalScore) []Value {
	return []Value{{EvalReturn, e.Mean}, {EvalError, e.Error}, {EvalEpisodes, float64(e.Episodes)},
		{EvalFailed, float64(e.Failed)}}
}

// EvalReached reports whether an evaluation with these metrics, NaN if they are not known, passes a target: see
// episode.EvalScore.Passes. A row without an evaluation does not.
func EvalReached(metric func(name string) float64, target float64) bool {
	e := episode.EvalScore{Mean: metric(EvalReturn), Error: metric(EvalError)}
	return metric(EvalFailed) == 0 && e.Passes(target)
}

// TargetText is what a display writes behind a metric that has to reach a target in an environment: ", target 45", ""
// for none.
func TargetText(env string, goal func(envs.Spec) float64) string {
	if e, err := envs.Make(env); err == nil {
		if target := goal(e.Spec()); !math.IsNaN(target) {
			return fmt.Sprintf(", target %.4g", target)
		}
	}
	return ""
}

// EvalRow returns the display's row of the newest evaluation, with a TargetText behind it. Its mean has to pass that by
// its error; see EvalReached.
func EvalRow(target string) DisplayRow {
	row := DisplayRow{Label: "eval", Plain: true, Gaps: true, Curve: EvalReturn, Color: "green",
		Parts: []Part{{Metric: EvalReturn}, {Before: " ± ", Metric: EvalError}}}
	if target != "" {
		row.Parts = append(row.Parts, Part{Behind: target})
	}
	return row
}
