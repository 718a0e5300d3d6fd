package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
)

// peakReport is what `bench peak` writes to its fourth file.
type peakReport struct {
	PeakBytes int64   `json:"peak_bytes"`        // the most resident memory, of any process of the program
	Processor float64 `json:"processor_seconds"` // of all of its threads
	Failed    string  `json:"failed,omitempty"`
}

// peakCommand runs a program and reports its peak memory. It stands between bench and the program because the kernel counts
// the memory of the process that starts one as the started one's: bench has the plugin loaded.
func peakCommand(h *host) *cobra.Command {
	return &cobra.Command{
		Use: "peak -- PROGRAM [ARG...]", Hidden: true, Args: cobra.MinimumNArgs(1),
		Short: "Run a program and report its peak memory, for bench",
		RunE: func(cmd *cobra.Command, args []string) error {
			report := os.NewFile(3, "report")
			if _, err := report.Stat(); err != nil {
				return console.BadInput("the report has no file to go to: this command is for bench --peers")
			}
			run := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
			run.Stdin, run.Stdout, run.Stderr = h.In, h.Out, h.Err
			return peakOf(run, report)
		},
	}
}

func peakOf(run *exec.Cmd, report io.Writer) error {
	var r peakReport
	err := run.Run()
	if err != nil {
		r.Failed = err.Error()
	}
	if run.ProcessState != nil {
		if usage, ok := run.ProcessState.SysUsage().(*syscall.Rusage); ok {
			r.PeakBytes = usage.Maxrss << 10
			r.Processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
		}
	}
	return json.NewEncoder(report).Encode(r)
}

// outputAndPeak runs a program through `bench peak`: its stdout and its peak memory.
func outputAndPeak(ctx context.Context, run *exec.Cmd) (out string, peak int64, err error) {
	out, report, err := outputAndCost(ctx, run)
	return out, report.PeakBytes, err
}

// outputAndCost runs a program through `bench peak`: its stdout and what it cost.
func outputAndCost(ctx context.Context, run *exec.Cmd) (out string, report peakReport, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", report, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", report, err
	}
	defer func() { _ = r.Close() }()
	cmd := exec.CommandContext(ctx, self, append([]string{"bench", "peak", "--", run.Path}, run.Args[1:]...)...)
	cmd.Env, cmd.ExtraFiles = run.Env, []*os.File{w}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // which it passes on, as a kill
	cmd.WaitDelay = 2 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	_ = w.Close()
	if err != nil {
		return "", report, withLastLine(err, stderr.String())
	}
	if err := json.NewDecoder(r).Decode(&report); err != nil {
		return "", report, fmt.Errorf("a program's peak memory is not known: %w", err)
	}
	if report.Failed != "" {
		return "", report, withLastLine(errors.New(report.Failed), stderr.String())
	}
	return string(text), report, nil
}

// ownPeak is the peak memory of a process of this program with these arguments, which gets bench's own backend flags; with an
// empty cache of programs it compiles, as the peers do.
func (b *bench) ownPeak(ctx context.Context, cold bool, args ...string) (int64, error) {
	cache := ""
	if cold {
		dir, remove, err := scratchCache()
		if err != nil {
			return 0, err
		}
		defer remove()
		cache = dir
	}
	run, err := ownProcess(ctx, b.flags.BackendFlags, cache, append(args, "--devices", strconv.Itoa(b.flags.Devices))...)
	if err != nil {
		return 0, err
	}
	_, peak, err := outputAndPeak(ctx, run)
	if err != nil {
		return 0, fmt.Errorf("a process of our own failed: %w", err)
	}
	return peak, nil
}

// besideMemory measures the peak memory of a workload of this name in processes of its own, with and without programs
// in the cache, and puts it and the peer's into the line.
func (b *bench) besideMemory(ctx context.Context, line *row, name string) error {
	if b.flags.Backend == console.Reference || line.PeerPeakBytes == nil {
		return nil
	}
	fmt.Fprintf(b.Out, "%s: peak memory\n", line.Name)
	for _, m := range []struct {
		cold bool
		to   **int64
	}{{true, &line.PeakBytes}, {false, &line.CachedPeakBytes}} {
		bytes, err := b.ownPeak(ctx, m.cold, "bench", name, "--repeats", "1")
		if err != nil {
			return err
		}
		*m.to = &bytes
	}
	return nil
}

// openName is the workload that opens the backend and does nothing with it.
const openName = "open"

// timeOpen times the opening of the backend alone: its memory is what the plugin takes in every process.
func timeOpen(ctx context.Context, b *bench, name string) ([]row, error) {
	line, err := b.inTurn(name, "", func() (float64, error) {
		start := time.Now()
		backend, err := b.open(ctx, b.flags.BackendFlags)
		if err != nil {
			return 0, err
		}
		return time.Since(start).Seconds(), backend.Close()
	}, nil)
	return []row{line}, err
}

// peakRatio is the peer's peak over ours, compiling where that was measured; 0 where there are not both.
func (l row) peakRatio() float64 {
	ours := l.PeakBytes
	if ours == nil {
		ours = l.CachedPeakBytes
	}
	if ours == nil || l.PeerPeakBytes == nil {
		return 0
	}
	return float64(*l.PeerPeakBytes) / float64(*ours)
}

func bytesText(n *int64) string {
	if n == nil {
		return "-"
	}
	return display.Bytes(*n)
}
