package studies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"xlarun/rollout/run"
	"xlarun/studies/study"
	"xlarun/xlabridge"
)

// Runs makes runs of settings: what the command line does with a config file.
type Runs interface {
	// Resolve checks the settings of a kind of run; errors name the setting.
	Resolve(kind string, values map[string]any) (run.Experiment, error)
	// Backend is what the experiment runs on; it is kept for the next experiment that runs on it.
	Backend(ctx context.Context, e run.Experiment) (xlabridge.Backend, error)
}

// Check resolves the settings of some points of the space, so that a mistake is found before anything runs.
func (s *Spec) Check(runs Runs) error {
	if s.Programs() {
		return nil // nothing is known of their settings
	}
	examples, err := s.Examples()
	if err != nil {
		return err
	}
	for _, params := range examples {
		e, err := runs.Resolve(s.Kind, s.Values(params, 0))
		if err != nil {
			return s.sampled(err)
		}
		job := e.Job()
		if job.Shares != "" {
			return wrong("run."+job.Shares, "got a value, but results of trials do not depend on other runs: leave it "+
				"out")
		}
		if err := s.checkRungs(job.Last); err != nil {
			return err
		}
		s.longest = max(s.longest, job.Last)
		if job.Measures == nil {
			continue
		}
		for _, name := range s.Metrics() {
			if available := job.Measures(); name != stepMetric && !slices.Contains(available, name) {
				return wrong("metric", "got %s, which runs of %s do not have: they have %s, %s", name, s.Kind,
					stepMetric, strings.Join(available, ", "))
			}
		}
	}
	return nil
}

// sampled adds to the error of a setting that the study took it from a parameter's range: nobody gave the value.
func (s *Spec) sampled(err error) error {
	for _, p := range s.Space {
		if !strings.Contains(err.Error(), fmt.Sprintf("key %q got ", p.Name)) {
			continue
		}
		d, from, hint := p.Distribution, "", "choices"
		switch d.Kind {
		case study.Categorical:
			from = fmt.Sprintf("the choices %v", d.Choices)
		case study.Int:
			from, hint = fmt.Sprintf("%.0f to %.0f in steps of %.0f", d.Low, d.High, d.Step), "low, high and step, "+
				"such as step = 2,"
		default:
			from, hint = fmt.Sprintf("%g to %g", d.Low, d.High), "low and high"
		}
		return fmt.Errorf("%w; the study took this value from its parameter %s, %s: give %s that leave it out", err,
			p.Name, from, hint)
	}
	return err
}

// errRestore: the runs cannot be restored from a checkpoint.
var errRestore = errors.New("the trial's checkpoint does not fit")

// errStopped ends a trial that its pruner stops.
var errStopped = errors.New("pruned")

// hooks are what an objective calls while it runs, and where it starts and stops.
type hooks struct {
	trial int64 // its number
	// report gets the objective at a step before the last. It returns whether to stop.
	report func(step, last int64, value float64) (stop bool, err error)
	// checkpoint is called after each round. It calls state if it wants a checkpoint.
	checkpoint func(state func() (*checkpoint, error)) error
	// from is the checkpoint to go on from; nil: the runs start from the beginning.
	from *checkpoint
	// until is the step at which the runs stop; 0: their last.
	until int64
	// end, if not nil, gets the state of the runs at the end.
	end func(*checkpoint)
}

// outcome is what a trial has come to.
type outcome struct {
	values []float64 // the objectives
	step   int64     // that its longest run has reached
}

// objective runs a trial: one run for each seed, side by side, so that all have reached the same step when their
// metrics are combined.
func (s *Spec) objective(ctx context.Context, runs Runs, params map[string]any, h hooks) (end outcome, err error) {
	seeds, err := s.startSeeds(ctx, runs, params, h.trial)
	defer func() { err = errors.Join(err, seeds.close()) }()
	if err != nil {
		return outcome{}, err
	}
	step, last := int64(0), seeds.last()
	if s.Programs() { // their first step may be 0
		step = -s.ReportEvery
	}
	if h.until > 0 {
		last = min(last, h.until)
	}
	if h.from != nil {
		if err := h.from.restore(ctx, seeds); err != nil {
			return outcome{}, fmt.Errorf("%w: %w", errRestore, err)
		}
		step = h.from.Step
	}
	for step < last {
		reported := step
		step = min(step+s.ReportEvery, last)
		err := seeds.advance(ctx, step, func() error {
			return h.checkpoint(func() (*checkpoint, error) { return checkpointOf(ctx, reported, seeds) })
		})
		if err != nil {
			return outcome{}, err
		}
		if s.Programs() {
			step = max(step, seeds.step())
		}
		end, err = seeds.outcome(s)
		if _, early := errors.AsType[*unmeasured](err); early && step < last && !seeds.done() {
			continue // the first evaluation is still to come
		}
		if err != nil {
			return outcome{}, err
		}
		if seeds.done() {
			break
		}
		if step < last && len(end.values) == 1 {
			stop, err := h.report(step, last, end.values[0])
			if err != nil {
				return outcome{}, err
			}
			if stop {
				return end, errStopped
			}
		}
	}
	if h.end != nil {
		state, err := checkpointOf(ctx, last, seeds)
		if err != nil {
			return outcome{}, err
		}
		h.end(state)
	}
	return end, nil
}
