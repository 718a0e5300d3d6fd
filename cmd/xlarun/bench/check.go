package bench

import (
	"context"
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
	Runs       int      `json:"runs"` // of the history
	Tries      int      `json:"tries"`
	OK         bool     `json:"ok"`
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

// beside compares a figure with the history.
func beside(history []historyLine, f figure) checkedFigure {
	var before, clock []float64
	for _, h := range history {
		if h.comparable(f) {
			before = append(before, h.Calibrated)
			if h.Clock > 0 {
				clock = append(clock, h.Clock)
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
	c.OK = c.worst() >= slowest
	return c
}

// check measures workloads and compares them with the history. One that is too slow is measured again, all of it fresh:
// backend, program and calibration.
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
			if try == 1 || c.worst() > best.worst() {
				best = c
			}
			best.Tries = try
			if !c.OK {
				fmt.Fprintf(b.Out, "%s: %.2f of the history's median in try %d of %d\n", w.name, c.worst(), try, checkTries)
			}
		}
		checked = append(checked, best)
	}
	return checked, nil
}

// printCheck shows the comparison; its error names what is too slow.
func printCheck(out io.Writer, checked []checkedFigure) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tCALIBRATED\tBESIDE THE MEDIAN\tBY THE CLOCK\tBESIDE THE MEDIAN\tRUNS\tTRIES")
	text := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.2f", *x)
	}
	var slow []string
	for _, c := range checked {
		fmt.Fprintf(t, "%s\t%.3f\t%s\t%s\t%s\t%d\t%d\n", c.Workload, c.Calibrated, text(c.Speed), ratioText(c.Clock), text(c.ClockSpeed), c.Runs, c.Tries)
		if !c.OK {
			slow = append(slow, fmt.Sprintf("%s (%.2f of the median)", c.Workload, c.worst()))
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
	if len(slow) > 0 {
		return fmt.Errorf("%s more than 25 %% below the history's median in %d tries: %s", console.Count(len(slow), "figure stays", "figures stay"), checkTries, strings.Join(slow, ", "))
	}
	return nil
}
