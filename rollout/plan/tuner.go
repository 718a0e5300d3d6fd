package plan

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Gain is how much faster than the best so far a candidate has to be. Less is noise.
const Gain = 1.03

// tuning lets one tuner of the process measure at a time.
var tuning sync.Mutex

// Stage returns candidates near the best plan so far, the most promising first.
type Stage[P comparable] func(best P) []P

// Tuner measures candidates, stage by stage, each from the best so far.
type Tuner[P comparable] struct {
	Deadline time.Time
	Stages   []Stage[P]
	// Measure returns the seconds of a candidate. If it still runs at the deadline, it runs on beside the caller, and
	// its result is ignored.
	Measure func(candidate P) (float64, error)
	Words   func(P) string
	// Late counts running measurements; nil: nobody waits for them.
	Late *sync.WaitGroup
}

// Run returns the fastest plan that it had time to measure, or else first, and all plans that it measured; the error of
// ctx when that ends.
func (t *Tuner[P]) Run(ctx context.Context, first P) (best P, tried []MeasuredPlan, err error) {
	tuning.Lock()
	defer tuning.Unlock()
	best = first
	seen := map[P]bool{first: true}
	bestSeconds, err := t.try(ctx, first)
	if err != nil {
		return best, nil, ignoreTime(err)
	}
	tried = append(tried, MeasuredPlan{t.Words(first), bestSeconds})
	for _, stage := range t.Stages {
		for _, candidate := range stage(best) {
			if seen[candidate] {
				continue
			}
			seen[candidate] = true
			seconds, err := t.try(ctx, candidate)
			if err != nil {
				return best, tried, ignoreTime(err)
			}
			tried = append(tried, MeasuredPlan{t.Words(candidate), seconds})
			if seconds*Gain < bestSeconds {
				best, bestSeconds = candidate, seconds
			}
		}
	}
	return best, tried, nil
}

func ignoreTime(err error) error {
	if errors.Is(err, ErrTime) {
		return nil
	}
	return err
}

// try measures a candidate until the deadline.
func (t *Tuner[P]) try(ctx context.Context, candidate P) (float64, error) {
	left := time.Until(t.Deadline)
	if left <= 0 {
		return 0, ErrTime
	}
	type outcome struct {
		seconds float64
		err     error
	}
	done := make(chan outcome, 1)
	measure := func() {
		seconds, err := t.Measure(candidate)
		done <- outcome{seconds, err}
	}
	if t.Late == nil {
		go measure()
	} else {
		t.Late.Go(measure) // counts it before it begins, so that no Wait misses it
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.seconds, o.err
	case <-timer.C:
		return 0, ErrTime
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
