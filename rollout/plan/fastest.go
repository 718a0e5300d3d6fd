package plan

import (
	"errors"
	"math"
	"time"
)

// ErrTime is the end of a tuner's budget.
var ErrTime = errors.New("the tuner's time is over")

// leastRuns is how often a candidate of a tuner runs at least, after a run to warm up.
const leastRuns = 3

// Fastest runs a candidate of a tuner again and again, for a stated time and three times at least, and gives the
// seconds of the fastest run, or ErrTime where over holds first. run gives the seconds that count of one run.
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
