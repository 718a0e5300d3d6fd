package plan

import (
	"errors"
	"sync"
	"time"
)

// Gain is how much faster than the best so far a candidate has to be: below, it is noise.
const Gain = 1.03

// tuning keeps tuners of one process from measuring each other.
var tuning sync.Mutex

// Stage gives the neighbours of the best plan so far that are worth a try, the most promising first.
type Stage[P comparable] func(best P) []P

// Tuner measures candidates, stage by stage, each from the best so far.
type Tuner[P comparable] struct {
	Deadline time.Time
	Stages   []Stage[P]
	// Measure gives the seconds of a candidate. What is still busy at the deadline is left to end by itself, and its
	// result is not used: Measure must stand being overtaken by what its caller does next.
	Measure func(candidate P) (float64, error)
	Words   func(P) string
	// Late counts what is being measured; nil: nobody waits for that.
	Late *sync.WaitGroup
}

// Run returns the fastest plan of those that there was time for, first where there was none, and what was tried.
func (t *Tuner[P]) Run(first P) (best P, tried []Tried, err error) {
	tuning.Lock()
	defer tuning.Unlock()
	best = first
	seen := map[P]bool{first: true}
	bestSeconds, err := t.try(first)
	if err != nil {
		return best, nil, ignoreTime(err)
	}
	tried = append(tried, Tried{t.Words(first), bestSeconds})
	for _, stage := range t.Stages {
		for _, candidate := range stage(best) {
			if seen[candidate] {
				continue
			}
			seen[candidate] = true
			seconds, err := t.try(candidate)
			if err != nil {
				return best, tried, ignoreTime(err)
			}
			tried = append(tried, Tried{t.Words(candidate), seconds})
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

// try measures a candidate, for as long as there is time.
func (t *Tuner[P]) try(candidate P) (float64, error) {
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
		t.Late.Go(measure) // counted before it begins, so that who waits cannot miss it
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.seconds, o.err
	case <-timer.C:
		return 0, ErrTime
	}
}
