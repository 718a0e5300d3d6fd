package run

import (
	"slices"
	"time"
)

// TimePhase times a part of a round. It calls f once to warm up, then `repeats` times. The times are divided by units,
// the number of units of work in a call.
func TimePhase(name string, repeats, units int, f func() error) (Phase, error) {
	seconds := make([]float64, repeats)
	for i := range 1 + repeats {
		start := time.Now()
		if err := f(); err != nil {
			return Phase{Name: name}, err
		}
		if i > 0 {
			seconds[i-1] = time.Since(start).Seconds() / float64(units)
		}
	}
	slices.Sort(seconds)
	return Phase{Name: name, Seconds: (seconds[(repeats-1)/2] + seconds[repeats/2]) / 2, Times: seconds,
		Units: units}, nil
}
