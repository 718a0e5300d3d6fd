package bench

import (
	"context"
	"fmt"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

// started is what it costs to start a workload's experiment; both are 0 where the backend compiles nothing.
type started struct {
	// Compile is the processor time that compiling takes: how much more a process uses with an empty cache of programs than with a full one, in units of the
	// calibration. The median of the starts.
	Compile float64 `json:"compile,omitempty"`
	// PeakBytes is the most resident memory of the process that compiles, the median of the starts.
	PeakBytes int64 `json:"peak_bytes,omitempty"`
}

const (
	// starts of a figure, of which the median counts.
	starts = 3
	// spoilt starts that are measured again, since something else on the machine took more of the processor than compiling.
	spoilt = 3
)

// startCost is what compiling took in one start.
type startCost struct {
	compile   time.Duration // of the processor
	peakBytes int64
}

// startsOf starts an experiment anew a few times, between slices of the calibration.
func (b *bench) startsOf(ctx context.Context, args []string, calibration slicer) (s started, err error) {
	if b.flags.Backend == console.Reference && b.startCost == nil {
		return s, nil
	}
	measure := b.startCost
	if measure == nil {
		measure = b.startAnew
	}
	units, err := b.pairing.unitsOfSlice(calibration)
	if err != nil {
		return s, err
	}
	before, err := b.pairing.time(calibration, units)
	if err != nil {
		return s, err
	}
	var compile, peaks []float64
	for tries := 0; len(compile) < starts; tries++ {
		cost, err := measure(ctx, args)
		if err != nil {
			return s, err
		}
		after, err := b.pairing.time(calibration, units)
		if err != nil {
			return s, err
		}
		if cost.compile <= 0 || before.cpu+after.cpu <= 0 {
			if before = after; tries < spoilt {
				continue
			}
			return s, fmt.Errorf("starts that compile took no more of the processor than those that find their programs, in %d of %d", tries+1-len(compile), tries+1)
		}
		compile, peaks = append(compile, cost.compile.Seconds()/((before.cpu+after.cpu)/2)), append(peaks, float64(cost.peakBytes))
		before = after
	}
	return started{machine.Median(compile), int64(machine.Median(peaks))}, nil
}

// startAnew runs one round of an experiment, by its command line, in processes of its own: with an empty cache of programs, then with the full one.
func (b *bench) startAnew(ctx context.Context, args []string) (cost startCost, err error) {
	cache, remove, err := scratchCache()
	if err != nil {
		return cost, err
	}
	defer remove()
	var processor [2]float64
	for i := range processor {
		run, err := ownProcess(ctx, b.flags.BackendFlags, cache, args...)
		if err != nil {
			return cost, err
		}
		_, report, err := outputAndCost(ctx, run)
		if err != nil {
			return cost, fmt.Errorf("a process of our own failed: %w", err)
		}
		processor[i] = report.Processor
		if i == 0 {
			cost.peakBytes = report.PeakBytes
		}
	}
	cost.compile = time.Duration((processor[0] - processor[1]) * float64(time.Second))
	return cost, nil
}

// known is a number of bytes, nil where it is not known.
func known(bytes int64) *int64 {
	if bytes == 0 {
		return nil
	}
	return &bytes
}
