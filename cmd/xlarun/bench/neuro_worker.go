package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

// workerReady is what a worker, a process of ours or of the peer's that runs one workload, says when it has compiled it.
type workerReady struct {
	Plan string `json:"plan,omitempty"`
}

// workerRuns are what it answers to a number of runs.
type workerRuns struct {
	Seconds []float64 `json:"seconds"` // of each
	// Processor is the processor time of a run, on all cores: what other work on the machine disturbs least.
	Processor float64 `json:"processor"`
	Result    float64 `json:"result"` // what the workload came to
	Peak      int64   `json:"peak"`   // the most resident memory of the process so far
}

// worker is a process that runs one workload as often as it is told.
type worker struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *strings.Builder
	ready  workerReady
}

// startWorker starts one and waits until it is ready.
func startWorker(cmd *exec.Cmd, name string) (*worker, error) {
	w := &worker{name: name, cmd: cmd, stderr: new(strings.Builder)}
	cmd.Stderr = w.stderr
	var err error
	if w.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return w, w.answer(&w.ready)
}

func (w *worker) answer(v any) error {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		w.close()
		return fmt.Errorf("%s failed: %w", w.name, withLastLine(err, w.stderr.String()))
	}
	if err := json.Unmarshal(line, v); err != nil {
		w.close()
		return fmt.Errorf("%s answered %q, not a line of JSON", w.name, line)
	}
	return nil
}

// run runs the workload n times.
func (w *worker) run(n int) (r workerRuns, err error) {
	if _, err := fmt.Fprintln(w.in, n); err != nil {
		return r, fmt.Errorf("%s failed: %w", w.name, err)
	}
	if err = w.answer(&r); err == nil && len(r.Seconds) == 0 {
		err = fmt.Errorf("%s ran %d times and gave no time", w.name, n)
	}
	return r, err
}

// close ends the process: the end of its commands does.
func (w *worker) close() {
	if w.cmd.ProcessState == nil {
		_ = w.in.Close()
		_ = w.cmd.Wait()
	}
}

// neuroWorker is what a worker of ours does.
func neuroWorker(ctx context.Context, h *host, o console.BackendFlags, w neurobench.Workload, tune string) error {
	b, err := h.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	r, err := w.Open(b, neurobench.Options{Devices: o.Devices, Tune: tune})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return serve(h, b, r.Plan(), r.Run)
}

// serve answers the numbers of runs that come in, once the first run is over.
func serve(h *host, b xlabridge.Backend, plan string, run func(n int) (seconds []float64, result float64, err error)) error {
	if _, _, err := run(1); err != nil {
		return err
	}
	if err := h.PrintJSON(workerReady{plan}); err != nil {
		return err
	}
	lines := bufio.NewScanner(h.In)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil || n < 1 {
			return console.BadInput("a worker got %q, wants a number of runs", lines.Text())
		}
		before := processorTime(b)
		seconds, result, err := run(n)
		if err != nil {
			return err
		}
		processor := (processorTime(b) - before).Seconds() / float64(n)
		peak, err := peakSoFar()
		if err != nil {
			return err
		}
		if err := h.PrintJSON(workerRuns{seconds, processor, result, peak}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// peakSoFar is the most resident memory of this process so far, from its own counter: what the kernel counts for a parent begins with
// the parent's.
func peakSoFar() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no line VmHWM")
}

// ownWorker starts one of ours, with an empty cache of programs: it compiles, as the peer does.
func (b *neuroBench) ownWorker(ctx context.Context, name string) (*worker, func(), error) {
	return startOwnWorker(ctx, b.flags.BackendFlags, "bench", "neuro", name, "--worker", "--size", b.size.String(), "--tune", b.flags.tune,
		"--devices", strconv.Itoa(b.flags.Devices))
}

// startOwnWorker starts a process of ours that serves, with an empty cache of programs, which end removes.
func startOwnWorker(ctx context.Context, o console.BackendFlags, args ...string) (w *worker, end func(), err error) {
	cache, remove, err := scratchCache()
	if err != nil {
		return nil, nil, err
	}
	cmd, err := ownProcess(ctx, o, cache, args...)
	if err == nil {
		w, err = startWorker(cmd, "our own process")
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return w, func() { w.close(); remove() }, nil
}

// peerWorker starts one of the peer's.
func (b *neuroBench) peerWorker(ctx context.Context, w neurobench.Workload) (*worker, error) {
	return b.peer.worker(ctx, "neuro_jax.py", w.PeerArgs...)
}

// worker starts a script that serves.
func (p *peerRunner) worker(ctx context.Context, script string, args ...string) (*worker, error) {
	cmd := exec.CommandContext(ctx, p.python, append([]string{filepath.Join(p.scripts, "peers", script)}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
	return startWorker(cmd, "the peer "+script)
}
