package plots

import (
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
)

// measure is what is drawn of each run: a metric.
type measure struct {
	metric string // "": what the run writes about training, see savedRun.training
	axis   string // its name on the axis
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
		return spaced(m.metric)
	}
	_, text := g.runs[0].training()
	return text
}

// training returns the metric that says how a run learns where it has no evaluations, and what that is.
func (r *savedRun) training() (name, text string) {
	switch {
	case r.has("mean_fitness"):
		return "mean_fitness", "mean fitness of the population"
	case r.has("recent_return"):
		return "recent_return", "recent return while learning"
	case len(r.metrics) == 0:
		return "", "nothing"
	}
	return r.metrics[0], spaced(r.metrics[0])
}

// defaultMeasures returns what is drawn unless metrics are given: the return of evaluations and, paler, what training
// itself says. Runs without evaluations have only the second.
func defaultMeasures(runs []*savedRun) []measure {
	if allHave(runs, run.EvalReturn) {
		of := []measure{{metric: run.EvalReturn, axis: spaced(run.EvalReturn)}}
		if !slices.ContainsFunc(runs, func(r *savedRun) bool {
			return !r.has("mean_fitness") && !r.has("recent_return")
		}) {
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
	case without < 0 && (!same || allHave(runs, run.EvalReturn)):
		return run.EnvSteps, nil
	case same:
		return unit, nil
	}
	return "", console.BadInput("%s has no %s, and the runs do not all count in %ss: give runs that have %s, or draw "+
		"them apart", runs[without].dir, run.EnvSteps, unit, run.EnvSteps)
}

// has reports whether a run has a metric.
func (r *savedRun) has(metric string) bool { return r.columns[metric] != nil }

// allHave reports whether all runs have a metric.
func allHave(runs []*savedRun, metric string) bool {
	return !slices.ContainsFunc(runs, func(r *savedRun) bool { return !r.has(metric) })
}
