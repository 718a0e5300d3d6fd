package studies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// laneExecutor runs trials in this process, as lanes of one program. While one batch runs, the results of the batch
// before it are written and the trials of the next one are asked. Trials that were open when the process was killed run
// again from their start. The executor outlives a session: a batch goes on while the storage is away.
type laneExecutor struct {
	c       *Coordinator
	program *laneProgram         // nil until there is something to run
	running *laneBatch           // nil: nothing runs
	waiting []*study.FrozenTrial // open trials that are not in the running batch
}

// laneError says why vectorized trials could not run.
type laneError struct{ err error }

func (e *laneError) Error() string {
	return fmt.Sprintf("vectorized trials cannot be run: %v", e.err)
}
func (e *laneError) Unwrap() error { return e.err }

// room implements executor.
func (x *laneExecutor) room(p progress) int {
	n := x.c.Spec.maxLaneTrials() - len(x.running.without(p.open))
	if !x.c.Spec.ahead() {
		n = min(n, x.c.Spec.windowRoom(p))
	}
	return n
}

// start implements executor.
func (x *laneExecutor) start(ctx context.Context, open []*study.FrozenTrial) error {
	x.waiting = x.running.without(open)
	if x.running != nil {
		return nil
	}
	return x.launch(ctx)
}

// launch starts a batch of the waiting trials.
func (x *laneExecutor) launch(ctx context.Context) (err error) {
	if len(x.waiting) == 0 {
		return nil
	}
	if x.program == nil {
		err := recoverPanic(func() (err error) {
			x.program, err = x.c.Spec.openLanes(ctx, x.c.Runs, x.waiting[0].External(), x.c.batchSize())
			return err
		})
		if err != nil {
			return asLaneError(ctx, err)
		}
	}
	x.running, err = x.c.startBatch(ctx, x.program, x.waiting)
	x.waiting = nil
	return err
}

// wait implements executor: it waits for the running batch, starts the next one and writes the results.
func (x *laneExecutor) wait(ctx context.Context) error {
	batch := x.running
	x.running = nil
	if err := batch.wait(); err != nil {
		return asLaneError(ctx, err)
	}
	if err := x.launch(ctx); err != nil {
		return err
	}
	x.c.threads = max(x.c.threads, threadCount(os.Getpid()))
	return x.c.writeBatch(ctx, batch)
}

// close ends the running batch, if there is one. cause is why.
func (x *laneExecutor) close(cause error) (err error) {
	if x.running != nil {
		x.running.cancel(cause)
		_ = x.running.wait() // it ends with the cause
	}
	if x.program != nil {
		err = x.program.close()
	}
	x.running, x.program = nil, nil
	return err
}

// asLaneError returns the error of a session whose lanes failed with err.
func asLaneError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*retryable](err); ok {
		return e
	}
	return &laneError{err}
}

// laneBatch holds trials that run together.
type laneBatch struct {
	trials  []*study.FrozenTrial
	reports [][]study.Reported
	results []LaneResult
	err     error
	done    chan struct{}
	cancel  context.CancelCauseFunc
}

// wait waits until the batch has run.
func (b *laneBatch) wait() error {
	<-b.done
	return b.err
}

// without returns the trials that are not in the batch.
func (b *laneBatch) without(trials []*study.FrozenTrial) (others []*study.FrozenTrial) {
	if b == nil {
		return trials
	}
	in := map[int64]bool{}
	for _, t := range b.trials {
		in[t.ID] = true
	}
	for _, t := range trials {
		if !in[t.ID] {
			others = append(others, t)
		}
	}
	return others
}

// startBatch starts to run trials together. The database gets heartbeats of them while they run.
func (c *Coordinator) startBatch(ctx context.Context, program *laneProgram,
	trials []*study.FrozenTrial) (*laneBatch, error) {
	stopHeartbeats, err := c.heartbeats(trials)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	b := &laneBatch{trials: trials, reports: make([][]study.Reported, len(trials)), done: make(chan struct{}),
		cancel: cancel}
	params := make([]map[string]any, len(trials))
	for i, t := range trials {
		params[i] = t.External()
	}
	report := func(trial int, step, last int64, value float64) (stop bool, err error) {
		return c.reportLane(ctx, b, trial, last, study.Reported{Step: step, Value: value})
	}
	go func() {
		defer close(b.done)
		defer cancel(nil)
		defer stopHeartbeats()
		b.err = recoverPanic(func() (err error) {
			b.results, err = program.run(ctx, params, report)
			return err
		})
	}()
	return b, nil
}

// reportLane asks the pruner whether to stop a trial that has reported r.
func (c *Coordinator) reportLane(ctx context.Context, b *laneBatch, trial int, last int64,
	r study.Reported) (stop bool, err error) {
	b.reports[trial] = append(b.reports[trial], r)
	reported := *b.trials[trial]
	reported.Intermediate = b.reports[trial]
	err = c.untilStored(ctx, func() (err error) {
		stop, err = c.Spec.prunes(c.study, &reported, last)
		return err
	})
	return stop, err
}

// writeBatch writes the results of a batch in one step. It waits for the storage, so that nothing runs twice.
func (c *Coordinator) writeBatch(ctx context.Context, b *laneBatch) error {
	var all []rdb.TrialResult
	for i, r := range b.results {
		err := r.Err
		if r.Stopped {
			err = errStopped
		}
		all = append(all, rdb.TrialResult{Trial: b.trials[i].ID, Result: resultOf(outcome{r.Values, r.Step},
			b.reports[i], err)})
	}
	return c.untilStored(ctx, func() error {
		for i, err := range c.db.FinishAll(all) {
			if n, ok := errors.AsType[*study.Nondeterminism](err); ok {
				c.notice("%v", n)
				continue
			}
			if err == nil {
				err = c.study.MarkFinished(all[i].Trial, all[i].Result)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// untilStored calls do, which needs the storage, again until the storage answers.
func (c *Coordinator) untilStored(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*study.Nondeterminism](err); ok {
			return err
		}
		paused, pauseErr := c.pause(ctx)
		if pauseErr != nil {
			return pauseErr
		}
		if !paused {
			return &retryable{err}
		}
	}
}

// recoverPanic calls work and returns a panic as an error.
func recoverPanic(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("they panicked: %v", p)
		}
	}()
	return work()
}

// heartbeats writes heartbeats of trials to the database until stop is called. One that cannot be written is left out.
func (c *Coordinator) heartbeats(trials []*study.FrozenTrial) (stop func(), err error) {
	ttl, err := c.Spec.leaseTime()
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(trials))
	for i, t := range trials {
		ids[i] = t.ID
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
