package studies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"xlarun/rollout/study"
)

// laneError is why trials could not be run as lanes.
type laneError struct{ err error }

func (e *laneError) Error() string {
	return fmt.Sprintf("lanes of one program cannot be run: %v", e.err)
}
func (e *laneError) Unwrap() error { return e.err }

// chooseLanes chooses how trials are run. A choice in the spec that cannot be is a *SpecError.
func (c *Coordinator) chooseLanes() error {
	s := c.Spec
	c.lanes, c.why = false, nil
	served := c.Away || c.Listen.Address != "" || c.Runs == nil
	switch {
	case s.TrialsAs == asLanes && served:
		return wrong("trials-as", "got lanes, but workers that join run trials as processes: give study run, or processes")
	case s.TrialsAs == asLanes:
		if err := s.FitsLanes(c.Runs); err != nil {
			return wrong("trials-as", "got lanes, but %v", err)
		}
		c.lanes = true
	case s.TrialsAs == asAuto && !served:
		c.lanes, c.why = s.asLanes(c.Runs)
	}
	return nil
}

// How says in a few words how trials are run, once the coordinator is open.
func (c *Coordinator) How() string {
	s := c.Spec
	switch {
	case c.Away:
		return "trials in processes: workers elsewhere"
	case c.lanes:
		return fmt.Sprintf("trials as lanes of one program on %d devices, up to %d at a time", s.Workers*s.Threads, c.atOnce())
	}
	text := fmt.Sprintf("trials in processes: %d workers x %d threads", s.Workers, s.Threads)
	if c.why != nil {
		text += fmt.Sprintf(" (no lanes: %v)", c.why)
	}
	return text
}

// Lanes tells whether trials are run as lanes of one program.
func (c *Coordinator) Lanes() bool { return c.lanes }

// ahead tells whether trials may be asked before those a window before them are over: nothing that is chosen for them depends on how these end.
func (s *Spec) ahead() bool {
	sampler, err := s.sampler()
	return err == nil && s.Pruner == "none" && !study.SeesResults(sampler)
}

// atOnce is the most trials that are lanes at a time.
func (c *Coordinator) atOnce() int {
	n := min(c.Spec.lanesRoom(), c.Spec.Trials)
	if !c.Spec.ahead() {
		n = min(n, c.Spec.Window)
	}
	return n
}

// laneSession runs the study in this process, its trials as lanes of one program, as many at a time as may be under way. Those that were not over when the process died are run
// again, from their start.
func (c *Coordinator) laneSession(ctx context.Context) (err error) {
	var program *laneProgram // nil until there is something to run
	defer func() {
		if program != nil {
			err = errors.Join(err, program.close())
		}
	}()
	exhausted, ahead := false, c.Spec.ahead()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		trials, err := c.study.Trials()
		if err != nil {
			return &trouble{err}
		}
		if err := c.tell(trials); err != nil {
			return err
		}
		at := c.standing(trials)
		n := min(c.Spec.Trials-at.asked, c.Spec.lanesRoom()-len(at.open))
		if !ahead { // each waits for those a window before it
			n = min(n, int(min(at.first, at.next)+int64(c.Spec.Window)-at.next))
		}
		if n > 0 && !exhausted {
			_, err := c.study.AskSpaces(n, c.Spec.Space, c.Spec.sees)
			if exhausted = errors.Is(err, study.ErrExhausted); err != nil && !exhausted {
				return &trouble{err}
			}
			continue
		}
		if len(at.open) == 0 {
			return errors.Join(c.verdict(), c.place.clear(c.Spec.Name))
		}
		if program == nil {
			if program, err = c.readyLanes(ctx, at.open[0]); err != nil {
				return err
			}
		}
		if err := c.runLanes(ctx, program, at.open); err != nil {
			return err
		}
		c.threads = max(c.threads, threads(os.Getpid()))
	}
}

// readyLanes makes the program.
func (c *Coordinator) readyLanes(ctx context.Context, t *study.FrozenTrial) (program *laneProgram, err error) {
	err = guarded(func() (err error) {
		program, err = c.Spec.openLanes(ctx, c.Runs, t.External(), c.atOnce())
		return err
	})
	return program, laneTrouble(ctx, err)
}

// laneTrouble is an error of lanes.
func laneTrouble(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if t, ok := errors.AsType[*trouble](err); ok {
		return t
	}
	return &laneError{err}
}

// runLanes runs trials together, and writes what they come to.
func (c *Coordinator) runLanes(ctx context.Context, program *laneProgram, open []*study.FrozenTrial) error {
	over, err := c.beating(open)
	if err != nil {
		return err
	}
	reports := make([][]study.Reported, len(open))
	params := make([]map[string]any, len(open))
	for i, t := range open {
		params[i] = t.External()
	}
	var results []LaneResult
	err = guarded(func() (err error) {
		results, err = program.run(ctx, params, func(trial int, step, last int64, value float64) (bool, error) {
			reports[trial] = append(reports[trial], study.Reported{Step: step, Value: value})
			own := *open[trial]
			own.Intermediate = reports[trial]
			stops := false
			err := c.insist(ctx, func() (err error) {
				stops, err = c.Spec.prunes(c.study, &own, last)
				return err
			})
			return stops, err
		})
		return err
	})
	over()
	if err != nil {
		return laneTrouble(ctx, err)
	}
	written := make([]error, len(open))
	var all sync.WaitGroup
	for i, r := range results { // together: they share commits
		err := r.Err
		if r.Stopped {
			err = errStopped
		}
		all.Go(func() { written[i] = c.write(open[i].ID, resultOf(r.Values, reports[i], err), reports[i]) })
	}
	all.Wait()
	for i, err := range written {
		if _, ok := errors.AsType[*study.Nondeterminism](err); err != nil && !ok { // it waits for the storage: what was computed is not computed again
			lane := results[i].Err
			if results[i].Stopped {
				lane = errStopped
			}
			err = c.insist(ctx, func() error { return c.write(open[i].ID, resultOf(results[i].Values, reports[i], lane), reports[i]) })
		}
		if n, ok := errors.AsType[*study.Nondeterminism](err); ok {
			c.notice("%v", n)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insist does what needs the storage, again where that was away for a while.
func (c *Coordinator) insist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*study.Nondeterminism](err); ok {
			return err
		}
		paused, ended := c.pause(ctx)
		if ended != nil {
			return ended
		}
		if !paused {
			return &trouble{err}
		}
	}
}

// write writes a result. What a trial that failed had reported is no part of it, but stays beside it.
func (c *Coordinator) write(trial int64, r study.Result, reports []study.Reported) error {
	if r.State == study.Fail {
		for _, x := range reports {
			if err := c.db.Report(trial, x); err != nil {
				return err
			}
		}
	}
	return c.db.Finish(trial, r)
}

// guarded makes an error of a panic.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("they panicked: %v", p)
		}
	}()
	return work()
}

// beating tells others that trials are under way, until over is called. A storage that is away for a while hears of it again later.
func (c *Coordinator) beating(open []*study.FrozenTrial) (over func(), err error) {
	ttl, err := c.Spec.leaseTime()
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, t := range open {
		ids = append(ids, t.ID)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(ttl / 4)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				_ = c.db.Beat(ids...)
			}
		}
	}()
	return func() { close(end); <-ended }, nil
}
