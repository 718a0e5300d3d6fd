package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// seeds holds the runs of a trial, one for each seed.
type seeds []*seedRun

// seedRun is the run of one seed. run is nil for a lane.
type seedRun struct {
	run     run.Run
	last    int64 // the step at which it ends
	over    bool
	metrics run.Metrics // of the last step; a metric that a step lacks keeps its value
}

// startSeeds starts the runs of a trial. After an error the runs that it returns have to be closed too.
func (s *Spec) startSeeds(ctx context.Context, runs Runs, params map[string]any, trial int64) (all seeds,
	err error) {
	if s.Programs() {
		return s.startPrograms(params, trial)
	}
	for seed := range s.Seeds {
		e, err := runs.Resolve(s.Kind, s.Values(params, seed))
		if err != nil {
			return all, err
		}
		job := e.Job()
		b, err := fetchAndOpen(ctx, runs, e, job)
		if err != nil {
			return all, err
		}
		r, err := job.Start(ctx, b)
		if err != nil {
			return all, err
		}
		all = append(all, &seedRun{run: r, last: job.Last})
	}
	return all, nil
}

// fetchAndOpen downloads what an experiment needs and opens its backend.
func fetchAndOpen(ctx context.Context, runs Runs, e run.Experiment, job *run.Job) (xlabridge.Backend, error) {
	if job.Fetch != nil {
		if err := job.Fetch(ctx, silentProgress{}); err != nil {
			return nil, err
		}
	}
	return runs.Backend(ctx, e)
}

// silentProgress ignores the progress of downloads.
type silentProgress struct{}

func (silentProgress) Download(done, total int64) {}
func (silentProgress) Notice(string)              {}

// last returns the last step of the longest run.
func (all seeds) last() (step int64) {
	for _, r := range all {
		step = max(step, r.last)
	}
	return step
}

// done reports whether all runs have ended.
func (all seeds) done() bool {
	return !slices.ContainsFunc(all, func(r *seedRun) bool { return !r.over })
}

// advance runs all seeds up to a step, one after the other. It calls round after each round of a run.
func (all seeds) advance(ctx context.Context, to int64, round func() error) error {
	for _, r := range all {
		for !r.over && r.metrics.Step < to {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := r.step(ctx); err != nil {
				return err
			}
			if err := round(); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes all runs.
func (all seeds) close() (err error) {
	for _, r := range all {
		err = errors.Join(err, r.run.Close())
	}
	return err
}

// step runs one round.
func (r *seedRun) step(ctx context.Context) error {
	m, err := r.run.Step(ctx)
	if err != nil {
		return err
	}
	if m.Step < r.metrics.Step || m.Step == r.metrics.Step && !m.Done {
		return fmt.Errorf("the run stays at step %d", m.Step)
	}
	if closing := r.run.Describe().Closing; closing != nil && m.Over(r.last) {
		values, err := closing(ctx)
		if err != nil {
			return err
		}
		m.Values = append(m.Values, values...)
	}
	r.record(m)
	return nil
}

// record keeps the metrics of a round.
func (r *seedRun) record(m run.Metrics) {
	values := m.Values
	for _, old := range r.metrics.Values { // metrics that are not measured in every round
		if _, ok := m.Get(old.Name); !ok {
			values = append(values, old)
		}
	}
	m.Values = values
	r.metrics, r.over = m, m.Over(r.last)
}

// stepMetric is the metric that all runs have: the step that they have reached.
const stepMetric = "step"

// outcome returns the value of each objective, aggregated over the seeds, and the step that the longest run has
// reached.
func (all seeds) outcome(s *Spec) (now outcome, err error) {
	for _, name := range s.Metrics() {
		var each []float64
		for _, r := range all {
			x, err := r.metric(name)
			if err != nil {
				return outcome{}, err
			}
			each = append(each, x)
		}
		now.values = append(now.values, aggregate(s.Aggregate, each))
	}
	now.step = all.step()
	return now, nil
}

// step returns the step that the longest run has reached.
func (all seeds) step() (step int64) {
	for _, r := range all {
		step = max(step, r.metrics.Step)
	}
	return step
}

// unmeasured is the error of a metric that no round has measured so far.
type unmeasured struct {
	metric   string
	measured []string
}

func (e *unmeasured) Error() string {
	return fmt.Sprintf("key \"metric\" got %s, but no round of the run has measured it: there are %s", e.metric,
		strings.Join(e.measured, ", "))
}

// metric returns a metric of the last round that has it. The error of one that no round has is *unmeasured.
func (r *seedRun) metric(name string) (float64, error) {
	x, ok := r.metrics.Get(name)
	if name == stepMetric && !ok {
		x, ok = float64(r.metrics.Step), true
	}
	if ok {
		return x, nil
	}
	names := []string{stepMetric}
	for _, v := range r.metrics.Values {
		names = append(names, v.Name)
	}
	return 0, &unmeasured{name, names}
}

// aggregate combines the values of several seeds. It is NaN if one of them is.
func aggregate(how string, x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	switch how {
	case "min":
		return x[0]
	case "max":
		return x[n-1]
	case "median":
		return (x[(n-1)/2] + x[n/2]) / 2
	}
	sum := 0.
	for _, v := range x {
		sum += v / float64(n)
	}
	return sum
}
