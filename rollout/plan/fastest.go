package plan

import (
	"errors"
	"math"
	"time"
)

// ErrTime reports that a tuner's time is over.
var ErrTime = errors.New("the tuner's time is over")

// leastRuns is the least number of runs of a candidate, after a run to warm up.
const leastRuns = 3

// Fastest runs a tuner's candidate repeatedly, for a time and at least three times. It returns the seconds of the
// fastest run, or ErrTime if over returns true before. run returns the seconds of one run.
func Fastest(lasting time.Duration, over func() bool, run func() (seconds float64, err error)) (float64, error) {
	best := math.Inf(1)
	var start time.Time
	for n := 0; n <= leastRuns || time.Since(start) < lasting; n++ {
		if over() {
			return 0, ErrTime
		}
		seconds, err := run()
		if err != nil {
			return 0, err
		}
		if n == 0 { // the first one warms up
			start = time.Now()
			continue
		}
		best = min(best, seconds)
	}
	return best, nil
}
