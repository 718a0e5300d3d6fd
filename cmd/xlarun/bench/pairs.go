package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"xlarun/cmd/xlarun/machine"
)

// slicer does n units of work, one after the other, and tells the processor time that all its threads spent on them.
type slicer func(n int) (cpu time.Duration, err error)

// paired is the speed of a workload beside that of the calibration.
type paired struct {
	Seconds float64 `json:"seconds"` // of a unit of the workload by the clock, the median
	// Calibrated is the workload's speed over the calibration's, both in units for a second of processor time: the median of
	// the pairs. Other programs on the machine hardly move it, but it does not see waiting, nor a core that is left idle.
	Calibrated float64 `json:"calibrated"`
	Spread     float64 `json:"spread"` // between the quartiles of the pairs, as a part of the median
	Pairs      int     `json:"pairs"`
	// Clock is the same by the clock, the median of those pairs at which the cores were free; 0 where those were too few.
	Clock float64 `json:"clock"`
	Free  int     `json:"free"` // number of these pairs
}

// pairing says how a workload and its calibration take turns.
type pairing struct {
	pairs int
	slice time.Duration // of each side, about: at least one unit
	now   func() time.Time
}

const (
	regressionPairs = 21
	regressionSlice = 100 * time.Millisecond
	// freeCores is the part of its threads' time that the calibration, which never waits, gets where nothing else wants
	// the cores (0.92 and more); with one other busy thread on two cores it is a half.
	freeCores = 0.85
	// leastFree is the number of pairs that are enough for a median by the clock.
	leastFree = 5
)

// sample is one unit, on average over a slice.
type sample struct{ wall, cpu float64 }

// measure takes turns: a slice of the calibration, one of the workload, and so on. A slice of the workload is compared with the
// mean of the two beside it, so that a machine that is getting slower favours neither. The calibration runs on so many
// threads.
func (p pairing) measure(ctx context.Context, work, calibration slicer, threads int) (r paired, err error) {
	var units [2]int
	for i, f := range []slicer{work, calibration} {
		if units[i], err = p.unitsOfSlice(f); err != nil {
			return r, err
		}
	}
	before, err := p.time(calibration, units[1])
	if err != nil {
		return r, err
	}
	var seconds, parts, clock []float64
	for range p.pairs {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		w, err := p.time(work, units[0])
		if err != nil {
			return r, err
		}
		after, err := p.time(calibration, units[1])
		if err != nil {
			return r, err
		}
		if w.wall <= 0 || w.cpu <= 0 || after.wall <= 0 || after.cpu <= 0 {
			return r, fmt.Errorf("the clock did not move while a slice ran")
		}
		seconds = append(seconds, w.wall)
		parts = append(parts, (before.cpu+after.cpu)/2/w.cpu)
		if free := freeCores * float64(threads); before.cpu/before.wall >= free && after.cpu/after.wall >= free {
			clock = append(clock, (before.wall+after.wall)/2/w.wall)
		}
		before = after
	}
	slices.Sort(parts)
	r = paired{Seconds: machine.Median(seconds), Calibrated: machine.Median(parts), Pairs: p.pairs, Free: len(clock)}
	r.Spread = (quantile(parts, .75) - quantile(parts, .25)) / r.Calibrated
	if len(clock) >= min(leastFree, p.pairs) {
		r.Clock = machine.Median(clock)
	}
	return r, nil
}

func (p pairing) time(f slicer, units int) (sample, error) {
	start := p.now()
	cpu, err := f(units)
	n := float64(units)
	return sample{p.now().Sub(start).Seconds() / n, cpu.Seconds() / n}, err
}

// mostUnits of a slice, whatever the clock says.
const mostUnits = 1 << 12

// unitsOfSlice warms f up and finds out how many units fill a slice.
func (p pairing) unitsOfSlice(f slicer) (int, error) {
	fastest := math.Inf(1)
	for range 3 {
		s, err := p.time(f, 1)
		if err != nil {
			return 0, err
		}
		fastest = min(fastest, s.wall)
	}
	return int(max(1, min(mostUnits, math.Round(p.slice.Seconds()/fastest)))), nil // a clock that stands: mostUnits
}

// quantile of sorted values, between the two nearest.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
