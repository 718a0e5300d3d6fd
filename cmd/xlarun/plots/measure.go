package plots

import (
	"math"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
)

// measure is what is drawn of each run: a metric.
type measure struct {
	metric string // "": what the run writes about training, see savedRun.training
	axis   string // what it is
	pale   bool   // drawn lightly, beside another measure
}

// name returns the metric of a group's runs.
func (m measure) name(g group) string {
	if m.metric != "" {
		return m.metric
	}
	name, _ := g.runs[0].training()
	return name
}

// text names the measure of a group's runs.
func (m measure) text(g group) string {
	if m.metric != "" {
		return m.axis
	}
	_, text := g.runs[0].training()
	return text
}

// trainingMetrics lists, the first one first, the metrics that say how a run learns where it has no evaluations.
var trainingMetrics = []struct {
	name, text string
	beside     bool // it has the scale of evaluations
}{{"mean_fitness", "mean fitness of the population", true}, {"recent_return", "recent return while learning", true},
	{"mean_accuracy", "mean accuracy in training", true}, {"loss", "loss", false}}

// training returns the metric that says how a run learns where it has no evaluations, and what that is: one of
// trainingMetrics, else the first that is no counter.
func (r *savedRun) training() (name, text string) {
	for _, m := range trainingMetrics {
		if r.has(m.name) {
			return m.name, m.text
		}
	}
	if len(r.metrics) == 0 {
		return "", "nothing"
	}
	name = r.metrics[max(0, slices.IndexFunc(r.metrics, func(name string) bool { return !r.counts(name) }))]
	return name, spaced(name)
}

// counts reports whether a metric is a counter: a number of steps, or whole numbers that only grow.
func (r *savedRun) counts(metric string) bool {
	values := r.columns[metric].values
	for i, x := range values {
		if x != math.Trunc(x) || i > 0 && !(x > values[i-1]) {
			return false
		}
	}
	return len(values) > 1 || strings.HasSuffix(metric, "steps")
}

// named returns what a metric of a run is. The eval_return of some kinds is no return.
func (r *savedRun) named(metric string) string {
	switch {
	case metric == run.EvalReturn && r.kind == "sparse":
		return "test accuracy"
	case metric == run.EvalReturn && r.kind == "selfplay" && !r.has("best_return"): // no puzzle
		return "share of points"
	}
	return spaced(metric)
}

// defaultMeasures returns what is drawn unless metrics are given: the return of evaluations and, paler, what training
// itself says. Runs without evaluations have only the second.
func defaultMeasures(runs []*savedRun) []measure {
	if allMeasure(runs, run.EvalReturn) {
		of := []measure{{metric: run.EvalReturn, axis: runs[0].named(run.EvalReturn)}}
		if !slices.ContainsFunc(runs, func(r *savedRun) bool { return !r.hasBeside() }) {
			of = append(of, measure{pale: true})
		}
		return of
	}
	var texts []string
	for _, r := range runs {
		if _, text := r.training(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return []measure{{axis: strings.Join(texts, ", ")}}
}

// defaultX returns what is drawn over unless it is given: environment steps of runs that have evaluations, or that
// count their steps in different units, else the unit of the runs.
func defaultX(runs []*savedRun) (string, error) {
	unit, same := runs[0].unit, true
	for _, r := range runs {
		same = same && r.unit == unit
	}
	without := slices.IndexFunc(runs, func(r *savedRun) bool { return !r.has(run.EnvSteps) })
	switch {
	case without < 0 && (!same || allMeasure(runs, run.EvalReturn)):
		return run.EnvSteps, nil
	case same:
		return unit, nil
	}
	return "", console.BadInput("%s has no %s, and the runs do not all count in %ss: give runs that have %s, or draw "+
		"them apart", runs[without].dir, run.EnvSteps, unit, run.EnvSteps)
}

// has reports whether a run has a metric.
func (r *savedRun) has(metric string) bool { return r.columns[metric] != nil }

// hasBeside reports whether a run has a metric to draw beside its evaluations.
func (r *savedRun) hasBeside() bool {
	for _, m := range trainingMetrics {
		if m.beside && r.has(m.name) {
			return true
		}
	}
	return false
}

// measures reports whether a metric of a run is a number in some row.
func (r *savedRun) measures(metric string) bool {
	number := func(x float64) bool { return !math.IsNaN(x) }
	return r.has(metric) && slices.ContainsFunc(r.columns[metric].values, number)
}

// allMeasure reports whether a metric of all runs is a number in some row.
func allMeasure(runs []*savedRun, metric string) bool {
	return !slices.ContainsFunc(runs, func(r *savedRun) bool { return !r.measures(metric) })
}
