package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

// work is what a process of ours does for one workload: it answers the numbers of runs that come in.
func (h *host) work(ctx context.Context, flags console.BackendFlags, w Workload, o Options) error {
	b, err := h.open(ctx, flags)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	if o.Devices == 0 {
		o.Devices = b.NumDevices()
	}
	start := time.Now()
	r, err := w.Open(ctx, h, b, o)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	first := ready{Compile: time.Since(start).Seconds()}
	if r.Compile != nil {
		first.Compile = *r.Compile
	}
	if _, _, err := r.Run(1); err != nil {
		return err
	}
	first.Plan = r.Plan
	if r.Checks != nil {
		if first.Checks, err = r.Checks(); err != nil {
			return err
		}
	}
	if err := h.PrintJSON(first); err != nil {
		return err
	}
	lines := bufio.NewScanner(h.In)
	for lines.Scan() {
		var n int
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil || n < 1 {
			return console.BadInput("a worker got %q, wants a number of runs", lines.Text())
		}
		before := processorTime(b)
		seconds, result, err := r.Run(n)
		if err != nil {
			return err
		}
		a := answer{Seconds: seconds, Result: result}
		if !r.Part {
			a.Processor = (processorTime(b) - before).Seconds() / float64(n)
			if r.Scale != nil {
				a.Processor *= *r.Scale
			}
		}
		if a.Peak, err = peakSoFar(); err != nil {
			return err
		}
		if err := h.PrintJSON(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// loaded is when this process was loaded.
var loaded = time.Now()

// processorTime is what this process has used so far, with its processes that have ended. An accelerator works while
// the process waits: there the clock's time stands for it.
func processorTime(b xlabridge.Backend) (all time.Duration) {
	for _, of := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if kind := b.Backend(); kind != "cpu" && kind != console.Reference || syscall.Getrusage(of, &usage) != nil {
			return time.Since(loaded)
		}
		all += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return all
}

// peakSoFar is the most resident memory so far of this process, or of one that it started and that has ended. Its own
// is from its own counter: what the kernel counts for a parent begins with the parent's.
func peakSoFar() (int64, error) {
	var ended syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ended); err != nil {
		return 0, err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return max(kilobytes, ended.Maxrss) << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no line VmHWM")
}
