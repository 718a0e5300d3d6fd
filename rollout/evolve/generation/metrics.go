package generation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/run"
)

// Summary summarizes one generation on the host. Members whose fitness is NaN count only as failed.
type Summary struct {
	Best, Mean, Worst float64
	Std               float64 // of the population, not an estimate for a larger one
	Length            float64 // mean number of steps of an episode
	Failed            int     // members whose fitness is NaN
	Members           int     // all of them
	// FirstFailed is the number of the first of them, -1 for none. FailedStep is the step of its episode after which
	// its return was not finite, 0 if only the mean over its episodes is not finite.
	FirstFailed int
	FailedStep  float64
}

// Summarize summarizes a generation, given each member's fitness, episode length and the step in which it failed. If
// all members failed, fitness is -Inf, which is no success, and the deviation is 0.
func Summarize(fitness, lengths, steps []float64) Summary {
	m := Summary{Best: math.Inf(-1), Worst: math.Inf(1), FirstFailed: -1, Members: len(fitness)}
	sum, squares := 0., 0.
	for i, f := range fitness {
		m.Length += lengths[i]
		if math.IsNaN(f) {
			if m.Failed++; m.Failed == 1 {
				m.FirstFailed, m.FailedStep = i, steps[i]
			}
			continue
		}
		m.Best, m.Worst = max(m.Best, f), min(m.Worst, f)
		sum += f
	}
	m.Length /= float64(len(lengths))
	n := float64(len(fitness) - m.Failed)
	if n == 0 {
		m.Mean, m.Worst = math.Inf(-1), math.Inf(-1)
		return m
	}
	m.Mean = sum / n
	for _, f := range fitness {
		if !math.IsNaN(f) {
			squares += (f - m.Mean) * (f - m.Mean)
		}
	}
	m.Std = math.Sqrt(squares / n)
	return m
}

// GoalMetric returns the metric that must reach the target of a run: the return of evaluations. Without evaluations it
// is that of the strategy's Goal, or else the mean of the population.
func (c *Search) GoalMetric(of *strategy.Erased) string {
	if c.EvalEnvs > 0 {
		return run.EvalReturn
	}
	return cmp.Or(of.Goal, "mean_fitness")
}

// Reached reports whether the metric of GoalMetric has reached a target. An evaluation with a failed episode has not,
// nor has the mean of a population of which members failed. metric returns a metric of the generation, NaN if it is not
// known.
func (c *Search) Reached(of *strategy.Erased, metric func(name string) float64, target float64) bool {
	name := c.GoalMetric(of)
	if name == run.EvalReturn {
		return run.EvalReached(metric, target)
	}
	return metric(name) >= target && (name != "mean_fitness" || metric("failed") == 0)
}

// FailedText names how many members failed, as the end of a sentence; "" for none.
func (s Summary) FailedText() string {
	if s.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of the %d members of the last generation failed: their returns are not finite, and the "+
		"mean leaves them out", s.Failed, s.Members)
}

// Failures returns the metrics of the first member that failed, if any.
func (s Summary) Failures(generation int64) []run.Value {
	if s.Failed == 0 {
		return nil
	}
	step := s.FailedStep
	if step == 0 {
		step = math.NaN()
	}
	return []run.Value{{Name: "failed_generation", Number: float64(generation)},
		{Name: "failed_members", Number: float64(s.Failed)},
		{Name: "failed_member", Number: float64(s.FirstFailed)}, {Name: "failed_step", Number: step}}
}

// Metrics returns a generation's metrics, given the numbers of Program.Run. It updates bestEver, the best fitness so
// far, and envSteps, the environment steps so far.
func (c *Search) Metrics(v []float64, step int64, r Reports, bestEver, envSteps *float64) (run.Metrics, Summary) {
	v, eval := c.Split(v)
	members := len(v) - len(r.Strategy)
	v, own := v[:members], v[members:]
	n := len(v) / (3 + len(r.Policy))
	s := Summarize(v[:n], v[n:2*n], v[2*n:])
	*bestEver = max(*bestEver, s.Best)
	*envSteps += c.EnvSteps(v[n : 2*n])
	perGeneration := int64(c.Population) * int64(c.Episodes) * int64(c.Steps)
	m := run.Metrics{Step: step, Work: float64(perGeneration), Values: []run.Value{
		{Name: "best_fitness", Number: s.Best}, {Name: "mean_fitness", Number: s.Mean},
		{Name: "std_fitness", Number: s.Std}, {Name: "worst_fitness", Number: s.Worst},
		{Name: "best_ever", Number: *bestEver}, {Name: "mean_length", Number: s.Length},
		{Name: "failed", Number: float64(s.Failed)},
		{Name: run.EnvSteps, Number: *envSteps},
		{Name: run.ComputedSteps, Number: float64(step * perGeneration)},
	}}
	if c.EvalDue(step) {
		m.Values = append(m.Values, run.EvalValues(run.NewEvaluation(eval, c.Episodes))...)
	}
	for i, name := range r.Policy {
		m.Values = append(m.Values, run.Value{Name: name, Number: episode.MeanOfFinite(v[(3+i)*n : (4+i)*n])})
	}
	for i, name := range r.Strategy {
		m.Values = append(m.Values, run.Value{Name: name, Number: own[i]})
	}
	m.Values = append(m.Values, s.Failures(step)...)
	return m, s
}

// EnvSteps returns the environment steps of members, all of their episodes until they ended, given each one's mean
// length of an episode.
func (c *Search) EnvSteps(lengths []float64) (sum float64) {
	for _, length := range lengths {
		sum += math.Round(length * float64(c.Episodes))
	}
	return sum
}

// Measures lists the names of a run's metrics, except those of failed members.
func (c *Search) Measures() []string {
	return slices.Concat([]string{"best_fitness", "mean_fitness", "std_fitness", "worst_fitness", "best_ever",
		"mean_length", "failed", run.EnvSteps, run.ComputedSteps}, c.EvalMeasures(), c.ReportNames())
}

// ReportNames lists the metrics that environment, policy and strategy report; none if one of them is mistaken.
func (c *Search) ReportNames() []string {
	r, err := c.Rollout()
	s, wrong := strategy.Make(c.Strategy, c.Parted.Under("strategy."))
	if err != nil || wrong != nil {
		return nil
	}
	return ReportsOf(r, s).Names()
}

// Reports are the names of the numbers that environment and policy report of a member's episodes (Policy), and that the
// strategy reports of a generation.
type Reports struct{ Policy, Strategy []string }

// ReportsOf returns the names of the numbers that an environment and a policy report, and a strategy.
func ReportsOf(r *episode.Rollout, s *strategy.Erased) Reports {
	return Reports{r.Reports(), s.Reports}
}

// Names lists all of them.
func (r Reports) Names() []string { return append(slices.Clone(r.Policy), r.Strategy...) }
