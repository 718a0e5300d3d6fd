package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

const (
	// slowest is the part of the history's median below which a figure fails.
	slowest = 0.75
	// mostCompile and mostPeak are the multiples of the medians above which compiling and peak memory fail. Beside other programs processor time of the compiler
	// wanders by a fifth: it waits for memory more than the calibration does.
	mostCompile = 1.5
	mostPeak    = 1.2
	// checkTries is how often it may: the machine is shared.
	checkTries = 3
)

// checkedFigure is a figure beside the history.
type checkedFigure struct {
	figure
	// Speed is the calibrated figure as a part of the median of the history's figures that can be compared with it, and
	// ClockSpeed the same by the clock. null where there is nothing to compare, or with what.
	Speed      *float64 `json:"speed"`
	ClockSpeed *float64 `json:"clock_speed"`
	// CompileBeside and PeakBeside are compiling and peak memory as multiples of the medians. null as above.
	CompileBeside *float64 `json:"compile_beside"`
	PeakBeside    *float64 `json:"peak_beside"`
	Runs          int      `json:"runs"` // of the history
	Tries         int      `json:"tries"`
	OK            bool     `json:"ok"`
}

// worst is the smaller of the two speeds, 1 where there are none.
func (c checkedFigure) worst() float64 {
	worst := math.Inf(1)
	for _, s := range []*float64{c.Speed, c.ClockSpeed} {
		if s != nil {
			worst = min(worst, *s)
		}
	}
	if math.IsInf(worst, 1) {
		return 1
	}
	return worst
}

// costs are the complaints about what a start takes.
func (c checkedFigure) costs() (all []string) {
	for _, x := range []struct {
		what   string
		beside *float64
		most   float64
	}{{"compiling takes", c.CompileBeside, mostCompile}, {"its peak memory is", c.PeakBeside, mostPeak}} {
		if x.beside != nil && *x.beside > x.most {
			all = append(all, fmt.Sprintf("%s %.2f of the median, at most %.2g is well", x.what, *x.beside, x.most))
		}
	}
	return all
}

// well tells whether nothing is worse than it may be.
func (c checkedFigure) well() bool { return c.worst() >= slowest && len(c.costs()) == 0 }

// better is the better of two tries in each of what is checked.
func (c checkedFigure) better(than checkedFigure) checkedFigure {
	least := func(a, b *float64) *float64 {
		if a == nil || b != nil && *b < *a {
			return b
		}
		return a
	}
	best := c
	if than.worst() > c.worst() {
		best = than
	}
	best.CompileBeside, best.PeakBeside = least(c.CompileBeside, than.CompileBeside), least(c.PeakBeside, than.PeakBeside)
	best.OK = best.well()
	return best
}

// beside compares a figure with the history.
func beside(history []historyLine, f figure) checkedFigure {
	var before, clock, compile, peaks []float64
	for _, h := range history {
		if h.comparable(f) {
			before = append(before, h.Calibrated)
			if h.Clock > 0 {
				clock = append(clock, h.Clock)
			}
			if h.Compile > 0 && h.PeakBytes > 0 {
				compile, peaks = append(compile, h.Compile), append(peaks, float64(h.PeakBytes))
			}
		}
	}
	c := checkedFigure{figure: f, Runs: len(before)}
	part := func(x float64, of []float64) *float64 {
		if len(of) == 0 || x <= 0 {
			return nil
		}
		p := x / machine.Median(of)
		return &p
	}
	c.Speed, c.ClockSpeed = part(f.Calibrated, before), part(f.Clock, clock)
	c.CompileBeside, c.PeakBeside = part(f.Compile, compile), part(float64(f.PeakBytes), peaks)
	c.OK = c.well()
	return c
}

// check measures workloads and compares them with the history. One that is too slow, or takes too much to start, is measured again, all of it
// fresh: backend, program and calibration. What was well in one try is well.
func (b *bench) check(ctx context.Context, workloads []workload) (checked []checkedFigure, err error) {
	history, err := readHistory(b.flags.history)
	if err != nil {
		return nil, err
	}
	for _, w := range workloads {
		var best checkedFigure
		for try := 1; try <= checkTries && !best.OK; try++ {
			f, err := b.calibrated(ctx, w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			c := beside(history, f)
			if try == 1 {
				best = c
			}
			best = best.better(c)
			best.Tries = try
			if c.worst() < slowest {
				fmt.Fprintf(b.Out, "%s: %.2f of the history's median in try %d of %d\n", w.name, c.worst(), try, checkTries)
			}
			for _, cost := range c.costs() {
				fmt.Fprintf(b.Out, "%s: %s, in try %d of %d\n", w.name, cost, try, checkTries)
			}
		}
		checked = append(checked, best)
	}
	return checked, nil
}

// printCheck shows the comparison; its error names what is too slow.
func printCheck(out io.Writer, checked []checkedFigure) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tCALIBRATED\tBESIDE THE MEDIAN\tBY THE CLOCK\tBESIDE THE MEDIAN\tCOMPILING\tPEAK MEMORY\tRUNS\tTRIES")
	text := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.2f", *x)
	}
	var slow, costly []string
	for _, c := range checked {
		fmt.Fprintf(t, "%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", c.Workload, c.Calibrated, text(c.Speed), ratioText(c.Clock), text(c.ClockSpeed),
			text(c.CompileBeside), text(c.PeakBeside), c.Runs, c.Tries)
		if c.worst() < slowest {
			slow = append(slow, fmt.Sprintf("%s (%.2f of the median)", c.Workload, c.worst()))
		}
		if costs := c.costs(); len(costs) > 0 {
			costly = append(costly, fmt.Sprintf("%s (%s)", c.Workload, strings.Join(costs, "; ")))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if i := slices.IndexFunc(checked, func(c checkedFigure) bool { return c.Runs == 0 }); i >= 0 {
		c := checked[i]
		var names []string
		for _, c := range checked {
			if c.Runs == 0 {
				names = append(names, c.Workload)
			}
		}
		fmt.Fprintf(out, "nothing to compare %s with: the history has no run on this kind of machine (%s; %s; %s); add one with --record\n",
			strings.Join(names, ", "), c.CPU, console.DevicesText(c.Devices, c.Backend), c.Calibration)
	}
	var failed []string
	if len(slow) > 0 {
		failed = append(failed, fmt.Sprintf("%s more than 25 %% below the history's median in %d tries: %s", console.Count(len(slow), "figure stays", "figures stay"), checkTries, strings.Join(slow, ", ")))
	}
	if len(costly) > 0 {
		failed = append(failed, fmt.Sprintf("%s more to start in %d tries: %s", console.Count(len(costly), "workload takes", "workloads take"), checkTries, strings.Join(costly, ", ")))
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "; "))
	}
	return nil
}
