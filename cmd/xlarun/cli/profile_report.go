package cli

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/internal/hardware"
	"xlarun/internal/quantity"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// peakMemory returns the peak memory of the device if it is known, else of the process.
func peakMemory(b xlabridge.Backend) int64 {
	if c, ok := b.(*xlabridge.Client); ok {
		if m, err := c.Memory(0); err == nil {
			return m.Peak
		}
	}
	m, err := hardware.OfProcess()
	if err != nil {
		return 0
	}
	return m.Peak
}

// print prints the profile.
func (p *profiler) print(json bool) error {
	r, e := p.profile, p.profile.Program
	fmt.Fprintf(p.Out, "%s, on %s\n", r.Experiment, console.DevicesText(e.Devices, r.Backend))
	if e.Plan != "" {
		fmt.Fprintf(p.Out, "plan (%s): %s\n", e.Source, e.Plan)
	}
	if r.BF16Method != "" {
		fmt.Fprintf(p.Out, "products of bfloat16: %s; of int8: %s\n", r.BF16Method, r.Int8Method)
	}
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	row := func(name string, seconds float64, note string) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, console.ShortTime(seconds), note)
	}
	row("open the backend", r.OpenSeconds, "")
	if e.Seconds > 0 {
		row("tune", e.Seconds, quantity.Count(len(e.Measured), "plan", "plans")+" measured")
	}
	row("trace", e.TraceSeconds, "")
	compile := "compile"
	if e.Cache == cache.Hit {
		compile = "load from the cache"
	}
	row(compile, e.CompileSeconds, "cache "+e.Cache)
	if len(e.Programs) > 1 {
		for _, x := range e.Programs {
			row("  "+x.Name, x.CompileSeconds, "cache "+x.Cache)
		}
	}
	row("state to the devices", r.ToDeviceSeconds, "")
	row("state to the host", r.ToHostSeconds, "")
	row("first "+p.Round, r.FirstSeconds, "")
	row(p.Unit, r.UnitSeconds, fmt.Sprintf("%s steps/s (%s), median of %d", display.Count(r.StepsPerSecond), p.Work,
		p.repeats))
	if err := errors.Join(w.Flush(), p.printPhases()); err != nil {
		return err
	}
	predicted := "not predicted by this backend"
	if r.PredictedBytes > 0 {
		predicted = fmt.Sprintf("%s a device predicted by the compiler for the %s, without evaluations and validations",
			display.Bytes(r.PredictedBytes), p.Unit)
	}
	fmt.Fprintf(p.Out, "memory: %s; peak measured %s\n", predicted, display.Bytes(r.PeakBytes))
	if f := r.Roofline; f != nil {
		fmt.Fprintf(p.Out, "roofline: %s flop and %s per %s: %s, %.1f %% of the %s of a matmul; %.3g GB/s unfused, "+
			"%.2g times the %.3g GB/s of memory\n",
			display.Count(f.FLOPs), display.Bytes(int64(f.Bytes)), p.Unit, gflops(f.GFLOPs), 100*f.ArithmeticPart,
			gflops(r.Machine.MatmulGFLOPs), f.GBs, f.MemoryPart, r.Machine.MemoryGBs)
	}
	if !json {
		return nil
	}
	return p.PrintJSON(r)
}

// printPhases prints a table of the parts, and what they take together.
func (p *profiler) printPhases() error {
	r := p.profile
	if len(r.Phases) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "part, by itself\ttime\ttimes per %s\tshare\tflop\tGFLOP/s\tof a matmul's\tbytes\tGB/s\tof the "+
		"memory's\n", p.Unit)
	sum := 0.
	for _, x := range r.Phases {
		sum += x.Seconds * x.Times
		cells := []string{"-", "-", "-", "-", "-", "-"} // the work is not known
		if f := x.Roofline; f != nil {
			cells = []string{display.Count(f.FLOPs), fmt.Sprintf("%.3g", f.GFLOPs),
				fmt.Sprintf("%.1f %%", 100*f.ArithmeticPart), display.Bytes(int64(f.Bytes)),
				fmt.Sprintf("%.3g", f.GBs), fmt.Sprintf("%.2g", f.MemoryPart)}
		}
		fmt.Fprintf(w, "  %s\t%s\t%.4g\t%.1f %%\t%s\n", x.Name, console.ShortTime(x.Seconds), x.Times,
			100*x.Share, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Out, "the parts take %s together and the whole %s takes %s: each part is a program of its "+
		"own, in the whole they share work and memory\n", console.ShortTime(sum), p.Unit,
		console.ShortTime(r.UnitSeconds))
	return err
}

func gflops(x float64) string { return fmt.Sprintf("%.3g GFLOP/s", x) }
