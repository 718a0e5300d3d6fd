package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/graph"
	"xlarun/xlabridge"
)

// measured is what a profile has of every kind of experiment.
type measured struct {
	Experiment      string        `json:"experiment"`
	Backend         string        `json:"backend"`
	OpenSeconds     float64       `json:"open_seconds"`
	ToDeviceSeconds float64       `json:"state_to_devices_seconds"`
	ToHostSeconds   float64       `json:"state_to_host_seconds"`
	Phases          []phaseTime   `json:"phases"`
	StepsPerSecond  float64       `json:"steady_steps_per_second"`
	PredictedBytes  int64         `json:"predicted_memory_bytes_per_device"`
	PeakBytes       int64         `json:"peak_memory_bytes"`
	Machine         machine.Speed `json:"machine"`
	Roofline        roofline      `json:"roofline"`
}

// phaseTime is a part that was run by itself.
type phaseTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// open opens the backend.
func (m *measured) open(ctx context.Context, a *app, o console.BackendFlags) (xlabridge.Backend, error) {
	start := time.Now()
	b, err := a.openBackend(ctx, o, display.NewDownloadBar(a.Out, a.Getenv))
	if err != nil {
		return nil, err
	}
	m.Backend, m.OpenSeconds = b.Backend(), time.Since(start).Seconds()
	return b, nil
}

// peakMemory is the most memory that was in use: of the device where it keeps a count, else of the process.
func peakMemory(b xlabridge.Backend) int64 {
	if c, ok := b.(*xlabridge.Client); ok {
		if m, err := c.Memory(0); err == nil {
			return m.Peak
		}
	}
	m, err := xlabridge.ProcessMemory()
	if err != nil {
		return 0
	}
	return m.Peak
}

// roofline puts the work of a generation, or of a step of SGD, beside what the machine can do.
type roofline struct {
	FLOPs          float64 `json:"flops"` // of a generation or step, all devices
	Bytes          float64 `json:"bytes"` // that its operations read and write, as if none were fused
	GFLOPs         float64 `json:"gflops_per_second"`
	GBs            float64 `json:"gb_per_second"`
	ArithmeticPart float64 `json:"part_of_matmul"`
	MemoryPart     float64 `json:"part_of_memory"` // above 1: most of the data never leaves the caches and registers
}

// rooflineOf holds what was done in so many seconds against the machine.
func rooflineOf(c graph.Cost, seconds float64, m machine.Speed) roofline {
	r := roofline{FLOPs: c.FLOPs, Bytes: c.Bytes}
	r.GFLOPs, r.GBs = r.FLOPs/seconds/1e9, r.Bytes/seconds/1e9
	r.ArithmeticPart, r.MemoryPart = r.GFLOPs/m.MatmulGFLOPs, r.GBs/m.MemoryGBs
	return r
}

// profileRow is a line of the table.
type profileRow struct {
	name    string
	seconds float64
	note    string
}

func compileRow(cache string, seconds float64) profileRow {
	name := "compile"
	if cache == xlabridge.CacheHit {
		name = "load from the cache"
	}
	return profileRow{name, seconds, "cache " + cache}
}

// print writes the table with the phases, the memory and the roofline of one unit of work.
func (m *measured) print(out io.Writer, rows []profileRow, unit string) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.name, console.ShortTime(r.seconds), r.note)
	}
	for _, x := range m.Phases {
		fmt.Fprintf(w, "  %s\t%s\tby itself\n", x.Name, console.ShortTime(x.Seconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	predicted := "not predicted by this backend"
	if m.PredictedBytes > 0 {
		predicted = display.Bytes(m.PredictedBytes) + " a device predicted by the compiler"
	}
	fmt.Fprintf(out, "memory: %s; peak measured %s\n", predicted, display.Bytes(m.PeakBytes))
	f := m.Roofline
	fmt.Fprintf(out, "roofline: %s flop and %s a %s: %s, %.1f %% of the %s of a matmul; %.3g GB/s unfused, %.2g times the %.3g GB/s of memory\n",
		display.Count(f.FLOPs), display.Bytes(int64(f.Bytes)), unit, gflops(f.GFLOPs), 100*f.ArithmeticPart, gflops(m.Machine.MatmulGFLOPs),
		f.GBs, f.MemoryPart, m.Machine.MemoryGBs)
	return nil
}

// printJSON ends stdout with one line, where it is wanted.
func (a *app) printJSON(wanted bool, value any) error {
	if !wanted {
		return nil
	}
	return a.PrintJSON(value)
}

func gflops(x float64) string { return fmt.Sprintf("%.3g GFLOP/s", x) }
