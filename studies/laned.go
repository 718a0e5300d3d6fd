package studies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"xlarun/rollout/study"
	"xlarun/studies/rdb"
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

// laneSession runs the study in this process, its trials as lanes of one program, as many at a time as may be under way. What is computed waits for nothing but the trials that it depends
// on: while some are, those before them are written and those after them asked. Those that were not over when the process died are run again, from their start.
func (c *Coordinator) laneSession(ctx context.Context) (err error) {
	var program *laneProgram // nil until there is something to run
	var running *laneBatch   // nil: nothing is computed
	inner, cancel := context.WithCancelCause(ctx)
	defer func() {
		cancel(err)
		if running != nil {
			_ = running.wait() // what ends the session is known
		}
		if program != nil {
			err = errors.Join(err, program.close())
		}
	}()
	exhausted, ahead := false, c.Spec.ahead()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var trials []*study.FrozenTrial
		if err := c.insist(ctx, func() (err error) { trials, err = c.study.Followed(c.over); return err }); err != nil {
			return err
		}
		rest, err := c.tell(trials, false)
		if err != nil {
			return err
		}
		at := c.standing(rest)
		waiting := running.without(at.open)
		n := min(c.Spec.Trials-at.asked, c.Spec.lanesRoom()-len(waiting))
		if !ahead { // each waits for those a window before it
			n = min(n, int(min(at.first, at.next)+int64(c.Spec.Window)-at.next))
		}
		if n > 0 && !exhausted {
			asked, err := c.study.AskSpaces(n, c.Spec.Space, c.Spec.sees)
			for _, t := range asked {
				c.ignored(t)
			}
			if exhausted = errors.Is(err, study.ErrExhausted); err != nil && !exhausted {
				// Some may have been asked: once the storage is there, it says which. What is computed meanwhile is kept.
				first := err
				if err := c.insist(ctx, func() error { err := first; first = nil; return err }); err != nil {
					return err
				}
			}
			continue
		}
		over := running
		if running = nil; over != nil {
			if err := over.wait(); err != nil {
				return laneTrouble(ctx, err)
			}
		}
		if len(waiting) > 0 {
			if program == nil {
				if program, err = c.readyLanes(ctx, waiting[0]); err != nil {
					return err
				}
			}
			if running, err = c.startLanes(inner, program, waiting); err != nil {
				return err
			}
		}
		if over != nil {
			if err := c.writeLanes(ctx, over); err != nil {
				return err
			}
			c.threads = max(c.threads, threads(os.Getpid()))
		} else if running == nil {
			return errors.Join(c.verdict(rest), c.place.clear(c.Spec.Name))
		}
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

// laneBatch are trials that are computed together.
type laneBatch struct {
	trials  []*study.FrozenTrial
	reports [][]study.Reported
	results []LaneResult
	silent  func() // ends what tells others that they are under way
	err     error
	done    chan struct{}
}

// wait waits until they are computed.
func (b *laneBatch) wait() error {
	<-b.done
	return b.err
}

// without are trials that are not among them.
func (b *laneBatch) without(trials []*study.FrozenTrial) (others []*study.FrozenTrial) {
	if b == nil {
		return trials
	}
	is := map[int64]bool{}
	for _, t := range b.trials {
		is[t.ID] = true
	}
	for _, t := range trials {
		if !is[t.ID] {
			others = append(others, t)
		}
	}
	return others
}

// startLanes begins to compute trials together.
func (c *Coordinator) startLanes(ctx context.Context, program *laneProgram, trials []*study.FrozenTrial) (*laneBatch, error) {
	b := &laneBatch{trials: trials, reports: make([][]study.Reported, len(trials)), done: make(chan struct{})}
	var err error
	if b.silent, err = c.beating(trials); err != nil {
		return nil, err
	}
	params := make([]map[string]any, len(trials))
	for i, t := range trials {
		params[i] = t.External()
	}
	go func() {
		defer close(b.done)
		defer b.silent()
		b.err = guarded(func() (err error) {
			b.results, err = program.run(ctx, params, func(trial int, step, last int64, value float64) (bool, error) {
				return c.laneReports(ctx, b, trial, last, study.Reported{Step: step, Value: value})
			})
			return err
		})
	}()
	return b, nil
}

// laneReports tells what the pruner makes of a report.
func (c *Coordinator) laneReports(ctx context.Context, b *laneBatch, trial int, last int64, r study.Reported) (stops bool, err error) {
	b.reports[trial] = append(b.reports[trial], r)
	own := *b.trials[trial]
	own.Intermediate = b.reports[trial]
	err = c.insist(ctx, func() (err error) {
		stops, err = c.Spec.prunes(c.study, &own, last)
		return err
	})
	return stops, err
}

// writeLanes writes what trials have come to, in one step. It waits for the storage: what was computed is not computed again.
func (c *Coordinator) writeLanes(ctx context.Context, b *laneBatch) error {
	var all []rdb.Ended
	for i, r := range b.results {
		err := r.Err
		if r.Stopped {
			err = errStopped
		}
		e := rdb.Ended{Trial: b.trials[i].ID, Result: resultOf(r.Values, b.reports[i], err)}
		if e.Result.State == study.Fail {
			e.Beside = b.reports[i]
		}
		all = append(all, e)
	}
	return c.insist(ctx, func() error {
		for i, err := range c.db.FinishAll(all) {
			if n, ok := errors.AsType[*study.Nondeterminism](err); ok {
				c.notice("%v", n)
				continue
			}
			if err == nil {
				err = c.study.Over(all[i].Trial, all[i].Result, all[i].Beside)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
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
