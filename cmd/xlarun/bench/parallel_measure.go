package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/bench/parallelbench"
)

// taken is what a run of one side took.
type taken struct {
	Seconds   float64 `json:"seconds"`   // from the start of its processes to their end
	Work      float64 `json:"work"`      // what the side itself says that its trials took, without its start; 0: it does not
	Processor float64 `json:"processor"` // seconds, of all of its processes
	Others    float64 `json:"others"`    // cores that all other processes of the machine used meanwhile
	Stopped   float64 `json:"stopped,omitempty"`
	Workers   int     `json:"workers"` // processes that computed
	Processes int     `json:"processes"`
	Threads   int     `json:"threads"`     // of the worker that had most
	AllOf     int     `json:"all_threads"` // of all processes together
	RSS       int64   `json:"rss_bytes"`   // of a worker, the mean
	PSS       int64   `json:"pss_bytes"`
	TotalPSS  int64   `json:"total_pss_bytes"` // of all processes together
	out       []string
}

// ofFree is the part of the cores' time that others left in which the side computed.
func (t taken) ofFree() float64 {
	return t.Processor / max(t.Seconds*(float64(runtime.NumCPU())-t.Others), 1e-3)
}

// tries is how often a run is repeated in which others stopped everything for a while.
const tries = 4

// measure runs the commands of a side, all at a time. make gives new ones, for each try.
func (b *parallelBench) measure(ctx context.Context, make func() ([]*exec.Cmd, error)) (t taken, err error) {
	for try := range tries {
		cmds, err := make()
		if err != nil {
			return t, err
		}
		if t, err = b.once(ctx, cmds); err != nil {
			return t, err
		}
		if t.Stopped < .02*t.Seconds {
			return t, nil
		}
		if try < tries-1 {
			fmt.Fprintf(b.Out, "  others stopped everything for %.1f of %.1f s: it is repeated\n", t.Stopped, t.Seconds)
		}
	}
	t.Seconds = max(t.Seconds-t.Stopped, 1e-3)
	if t.Work > 0 {
		t.Work = max(t.Work-t.Stopped, 1e-3)
	}
	b.aside("note: a run was stopped by others in each of %d tries; the time for which it was is taken off", tries)
	return t, nil
}

func (b *parallelBench) once(ctx context.Context, cmds []*exec.Cmd) (t taken, err error) {
	w := parallelbench.NewWatch()
	busy, begun := parallelbench.Busy(), time.Now()
	outs := make([]bytes.Buffer, len(cmds))
	errs := make([]bytes.Buffer, len(cmds))
	failed := make([]error, len(cmds))
	var all sync.WaitGroup
	for i, cmd := range cmds {
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = w.Environ(cmd.Env)
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 5 * time.Second
		all.Go(func() {
			if e := cmd.Run(); e != nil {
				failed[i] = withLastLine(fmt.Errorf("%s: %w", filepath.Base(cmd.Path), e), errs[i].String())
			}
		})
	}
	all.Wait()
	t.Seconds, busy = time.Since(begun).Seconds(), parallelbench.Busy()-busy
	seen, stopped := w.End()
	if err := errors.Join(failed...); err != nil {
		return t, errors.Join(err, ctx.Err())
	}
	t.Stopped = stopped.Seconds()
	sampled := 0.
	for _, p := range seen {
		sampled += p.Processor
		t.AllOf += p.Threads
		t.TotalPSS += p.PSS
	}
	for i, cmd := range cmds {
		t.Processor += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		t.out = append(t.out, outs[i].String())
	}
	t.Processor = max(t.Processor, sampled) // what left its parent is not among the first
	t.Others = max(0, (busy-t.Processor)/t.Seconds)
	some := parallelbench.Workers(seen)
	t.Workers, t.Processes = len(some), len(seen)
	for _, p := range some {
		t.Threads = max(t.Threads, p.Threads)
		t.RSS += p.RSS / int64(len(some))
		t.PSS += p.PSS / int64(len(some))
	}
	return t, nil
}

// parallelSide is one of those that take turns.
type parallelSide struct {
	name string
	make func() ([]*exec.Cmd, error)
	work func(out string) (float64, error) // nil: the side does not say what its trials took
}

// parallelRuns are the runs of a side.
type parallelRuns struct {
	Name string  `json:"name"`
	Runs []taken `json:"runs"`
}

func (r parallelRuns) of(what func(taken) float64) float64 {
	return parallelbench.Median(each(r.Runs, what))
}
func (r parallelRuns) seconds() float64   { return r.of(func(t taken) float64 { return t.Seconds }) }
func (r parallelRuns) processor() float64 { return r.of(func(t taken) float64 { return t.Processor }) }

// work is what the trials took where the side says so, else the whole.
func (r parallelRuns) work() float64 {
	return r.of(func(t taken) float64 {
		if t.Work > 0 {
			return t.Work
		}
		return t.Seconds
	})
}

// inTurn runs the sides in turn, as often as there are repeats; every other time backwards, so that none is always the one after another.
func (b *parallelBench) inTurn(ctx context.Context, repeats int, sides []parallelSide) ([]parallelRuns, error) {
	all := make([]parallelRuns, len(sides))
	for r := range repeats {
		order := slices.Clone(sides)
		if r%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			t, err := b.measure(ctx, s.make)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if s.work != nil {
				if t.Work, err = s.work(t.out[0]); err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
			}
			i := slices.IndexFunc(sides, func(x parallelSide) bool { return x.name == s.name })
			all[i].Name, all[i].Runs = s.name, append(all[i].Runs, t)
			fmt.Fprintf(b.Out, "  %s: %.2f s, %.2f s of processor time; others used %.1f cores\n", s.name, t.Seconds, t.Processor, t.Others)
		}
	}
	return all, nil
}

// peerJob runs a script of the peers with one argument of JSON. threads limits its BLAS's; 0: not.
func (b *parallelBench) peerJob(ctx context.Context, script string, threads int, job map[string]any) func() ([]*exec.Cmd, error) {
	return func() ([]*exec.Cmd, error) {
		job := job
		if storage, _ := job["storage"].(string); storage == "sqlite" {
			copied := map[string]any{}
			for k, v := range job {
				copied[k] = v
			}
			copied["storage"] = "sqlite:///" + b.file("optuna.db")
			job = copied
		}
		text, err := json.Marshal(job)
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, b.peers.python, filepath.Join(b.peers.scripts, "peers", script), string(text))
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		for _, name := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"} {
			if threads > 0 {
				cmd.Env = append(cmd.Env, name+"="+strconv.Itoa(threads))
			}
		}
		return []*exec.Cmd{cmd}, nil
	}
}

// peerSaid is the line that a script of the peers ends with.
type peerSaid struct{ Seconds, Start, Busy, Best, Own float64 }

func readPeer(out string) (p peerSaid, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &p); err != nil || p.Seconds <= 0 {
		return p, fmt.Errorf("a peer's script printed %q, which holds no time", lines[len(lines)-1])
	}
	return p, nil
}

func peerWork(out string) (float64, error) {
	p, err := readPeer(out)
	return p.Seconds, err
}

// cores is how many workers compute at a time.
func cores() int { return min(2, runtime.NumCPU()) }
