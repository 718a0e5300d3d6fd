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

// Runs makes runs of settings: what the command line does with a config file.
type Runs interface {
	// Resolve checks the settings of a kind of run; errors name the setting.
	Resolve(kind string, values map[string]any) (run.Experiment, error)
	// Backend is what the experiment runs on; it is kept for the next one that runs on the same.
	Backend(ctx context.Context, e run.Experiment) (xlabridge.Backend, error)
}

// Check resolves the settings of some points of the space, so that a mistake is found before anything runs.
func (s *Spec) Check(runs Runs) error {
	examples, err := s.Examples()
	if err != nil {
		return err
	}
	for _, params := range examples {
		e, err := runs.Resolve(s.Kind, s.Values(params, 0))
		if err != nil {
			return err
		}
		if err := s.checkRungs(e.Last()); err != nil {
			return err
		}
		m, ok := e.(run.Measured)
		if !ok {
			continue
		}
		for _, name := range s.Metrics() {
			if has := m.Measures(); name != stepMetric && !slices.Contains(has, name) {
				return wrong("metric", "got %s, which runs of %s do not have: they have %s, %s", name, s.Kind, stepMetric, strings.Join(has, ", "))
			}
		}
	}
	return nil
}

// errRestore tells that runs do not take what was stored of them.
var errRestore = errors.New("the trial's checkpoint does not fit")

// errStopped ends a trial whose pruner says so.
var errStopped = errors.New("pruned")

// hooks are what an objective is run with. report hears of it on the way and says whether to stop; keep hears after each round that the trial
// can be stored, and calls what it is given where it is time; from is what was stored, nil: the run begins. until is the step at which it stops, 0: its last; end, where there is one, gets
// what the runs have come to then.
type hooks struct {
	report func(step, last int64, value float64) (stop bool, err error)
	keep   func(state func() (*progress, error)) error
	from   *progress
	until  int64
	end    func(*progress)
}

// objective runs the trial of some parameters: one run a seed, side by side, so that all have come as far when their metrics are put together.
// values are the objectives at the end.
func (s *Spec) objective(ctx context.Context, runs Runs, params map[string]any, h hooks) (values []float64, err error) {
	var all []*seeded
	defer func() {
		for _, r := range all {
			err = errors.Join(err, r.run.Close())
		}
	}()
	first, last := int64(0), int64(0)
	for seed := range s.Seeds {
		e, err := runs.Resolve(s.Kind, s.Values(params, seed))
		if err != nil {
			return nil, err
		}
		if f, ok := e.(run.Fetcher); ok {
			if err := f.Fetch(ctx, quiet{}); err != nil {
				return nil, err
			}
		}
		b, err := runs.Backend(ctx, e)
		if err != nil {
			return nil, err
		}
		r, err := e.Start(b)
		if err != nil {
			return nil, err
		}
		all = append(all, &seeded{run: r, last: e.Last()})
		last = max(last, e.Last())
	}
	if h.from != nil {
		if err := h.from.restore(all); err != nil {
			return nil, errors.Join(errRestore, err)
		}
		first = h.from.Step
	}
	if h.until > 0 {
		last = min(last, h.until)
	}
	for step := first; step < last; {
		before := step
		step = min(step+s.ReportEvery, last)
		open := false
		for _, r := range all {
			for !r.over && r.metrics.Step < step {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				if err := r.advance(); err != nil {
					return nil, err
				}
				if err := h.keep(func() (*progress, error) { return progressOf(before, all) }); err != nil {
					return nil, err
				}
			}
			open = open || !r.over
		}
		if values, err = s.together(all); err != nil {
			return nil, err
		}
		if !open {
			break
		}
		if step < last && len(values) == 1 {
			stop, err := h.report(step, last, values[0])
			if err != nil {
				return nil, err
			}
			if stop {
				return values, errStopped
			}
		}
	}
	if h.end != nil {
		p, err := progressOf(last, all)
		if err != nil {
			return nil, err
		}
		h.end(p)
	}
	return values, nil
}

type quiet struct{}

func (quiet) Download(done, total int64) {}
func (quiet) Notice(string)              {}

// seeded is a run of one seed.
type seeded struct {
	run     run.Run
	last    int64
	over    bool
	metrics run.Metrics
}

// advance is one round of the run.
func (r *seeded) advance() error {
	m, err := r.run.Step()
	if err != nil {
		return err
	}
	if m.Step <= r.metrics.Step {
		return fmt.Errorf("the run stays at step %d", m.Step)
	}
	r.take(m)
	return nil
}

// take takes the metrics of a step in.
func (r *seeded) take(m run.Metrics) {
	values := m.Values
	for _, old := range r.metrics.Values { // metrics that are not measured in every round
		if _, ok := m.Get(old.Name); !ok {
			values = append(values, old)
		}
	}
	m.Values = values
	r.metrics, r.over = m, m.Done || m.Stalled || m.Step >= r.last
}

// stepMetric is the metric that all runs have: the step that they have come to.
const stepMetric = "step"

// together puts the seeds' metrics together.
func (s *Spec) together(all []*seeded) (values []float64, err error) {
	for _, name := range s.Metrics() {
		var each []float64
		for _, r := range all {
			x, ok := r.metrics.Get(name)
			if name == stepMetric && !ok {
				x, ok = float64(r.metrics.Step), true
			}
			if !ok {
				names := []string{stepMetric}
				for _, v := range r.metrics.Values {
					names = append(names, v.Name)
				}
				return nil, fmt.Errorf("key \"metric\" got %s, but the run has no such metric: it has %s", name, strings.Join(names, ", "))
			}
			each = append(each, x)
		}
		values = append(values, aggregate(s.Aggregate, each))
	}
	return values, nil
}

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
