package studies

import (
	"context"
	"errors"
	"math"

	"xlarun/studies/study"
)

// executor runs trials: workerExecutor in worker processes, laneExecutor as lanes of one program in this process.
type executor interface {
	// room returns the number of further trials that the executor takes now.
	room(p progress) int
	// start starts the open trials that it has not started yet.
	start(ctx context.Context, open []*study.FrozenTrial) error
	// wait returns when a trial may have finished.
	wait(ctx context.Context) error
}

// optimize asks trials and has the executor run them and store their results. It announces finished trials to Ended,
// until all trials of the study are finished. An error is *retryable where a new session may go on.
func (c *Coordinator) optimize(ctx context.Context, x executor) error {
	for {
		p, err := c.ask(x)
		if err != nil {
			return err
		}
		if len(p.open) == 0 {
			return c.announceRest(p)
		}
		if err := x.start(ctx, p.open); err != nil {
			return err
		}
		if err := x.wait(ctx); err != nil {
			return err
		}
	}
}

// ask reads finished trials and asks new trials until the executor has no room. The sampler of a trial
// sees the results of the trials that are at least a window before it, and no others.
func (c *Coordinator) ask(x executor) (p progress, err error) {
	for {
		if p, err = c.readFinished(); err != nil {
			return p, err
		}
		n := min(c.Spec.Trials-p.asked, x.room(p))
		if n <= 0 || c.exhausted {
			return p, nil
		}
		trials, err := c.study.AskSpaces(n, c.Spec.Space, c.Spec.sees)
		c.exhausted = errors.Is(err, study.ErrExhausted)
		if err != nil && !c.exhausted {
			return p, &retryable{err} // some may have been stored: the next session reads which
		}
		for _, t := range trials {
			for _, sentence := range t.Ignored() { // values that were enqueued
				c.notice("trial %d: %s", t.Number(), sentence)
			}
		}
	}
}

// progress is how far a study has come.
type progress struct {
	asked int                  // trials of this study
	open  []*study.FrozenTrial // trials of this study that are not finished
	next  int64                // number of the next trial
	first int64                // number of the first open trial; math.MaxInt64 if there is none
	rest  []*study.FrozenTrial // trials after those that were announced
}

// progress returns how far the study is, given the trials after those that were announced.
func (c *Coordinator) progress(rest []*study.FrozenTrial) progress {
	p := progress{asked: c.asked, next: c.next, first: math.MaxInt64, rest: rest}
	for _, t := range rest {
		if !isOurs(t) {
			continue
		}
		p.asked++
		if !t.State.Finished() {
			p.first = min(p.first, t.Number)
			p.open = append(p.open, t)
		}
	}
	return p
}

// sees returns the number below which the sampler of a trial sees results.
func (s *Spec) sees(number int64) int64 { return max(number-int64(s.Window)+1, 0) }

// windowRoom returns how many trials can be asked whose samplers need no result of an open trial.
func (s *Spec) windowRoom(p progress) int {
	return int(min(p.first, p.next) + int64(s.Window) - p.next)
}

// ahead reports whether trials may be asked before the trials a window before them have finished: neither the sampler
// nor a pruner looks at results.
func (s *Spec) ahead() bool {
	sampler, err := s.sampler()
	return err == nil && s.Pruner == "none" && !study.SeesResults(sampler)
}
