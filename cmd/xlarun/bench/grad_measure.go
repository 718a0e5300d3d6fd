package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"xlarun/cmd/xlarun/bench/gradbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/xlabridge"
)

const (
	// gradBlock is about how long a side runs before it is the other side's turn.
	gradBlock = 300 * time.Millisecond
	// gradSlow is what a peer may take if it is to be asked again.
	gradSlow = 5.0
)

// pairs are times of ours and of the peer's, taken in turn.
type pairs struct{ ours, theirs []float64 }

// line is the medians; the ratio is the median of the pairs' ratios, which a machine that is busier for a while disturbs
// less than the ratio of the medians.
func (p pairs) line(name, measures, peer string, wanted float64) gradLine {
	l := gradLine{row{Name: name, Ours: machine.Median(p.ours)}, wanted, measures}
	if len(p.theirs) > 0 {
		l.row = l.against(peer, machine.Median(p.theirs))
		ratios := make([]float64, len(p.theirs))
		for i := range ratios {
			ratios[i] = p.theirs[i] / p.ours[i]
		}
		*l.Ratio = machine.Median(ratios)
	}
	return l
}

// slow tells that the peer is not to be asked again.
func (p pairs) slow() bool {
	return len(p.theirs) > 0 && p.theirs[len(p.theirs)-1] > gradSlow
}

// workload measures one workload on both sides.
func (b *gradBench) workload(ctx context.Context, backend xlabridge.Backend, w gradbench.Workload) ([]gradLine, error) {
	ours, _, err := w.Load(backend, gradOptions)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ours.Close() }()
	numbers, err := ours.Check()
	if err != nil {
		return nil, err
	}
	if b.peer != nil {
		theirs, err := b.peer.check(w.Name)
		if err != nil {
			return nil, err
		}
		if err := gradbench.Agree(numbers, theirs); err != nil {
			return nil, err
		}
	}
	var run, cold, start pairs
	for i := range b.flags.repeats {
		fmt.Fprintf(b.Out, "%s: repeat %d of %d\n", w.Name, i+1, b.flags.repeats)
		for _, m := range []struct {
			p       *pairs
			measure func(ctx context.Context, backend xlabridge.Backend, l *gradbench.Loaded, p *pairs) error
		}{{&run, b.runs}, {&cold, b.cold}, {&start, b.start}} {
			if m.p.slow() {
				continue
			}
			if err := m.measure(ctx, backend, ours, m.p); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	peer, wanted := "", wantedRun
	if b.peer != nil {
		peer = b.peer.name
	}
	if w.Loop {
		wanted = wantedLoop
	}
	lines := []gradLine{run.line(w.Name, gradRun, peer, wanted), cold.line(w.Name+"-cold", gradCold, peer, wantedCold)}
	if len(start.ours) > 0 {
		lines = append(lines, start.line(w.Name+"-start-warm", gradStart, peer, wantedStart))
	}
	return lines, nil
}

// block is how often to run what takes so many seconds.
func block(seconds float64) int {
	return min(max(int(gradBlock.Seconds()/seconds), 1), 100)
}

// runs times one call, both sides in turn a few times.
func (b *gradBench) runs(ctx context.Context, _ xlabridge.Backend, l *gradbench.Loaded, p *pairs) error {
	s, err := l.Run(1)
	if err != nil {
		return err
	}
	if s, err = l.Run(block(s[0])); err != nil {
		return err
	}
	p.ours = append(p.ours, machine.Median(s))
	if b.peer == nil {
		return nil
	}
	if s, err = b.peer.run(l.Name, 1); err != nil {
		return err
	}
	if n := block(s[0]); n > 1 {
		if s, err = b.peer.run(l.Name, n); err != nil {
			return err
		}
	}
	p.theirs = append(p.theirs, machine.Median(s))
	return nil
}

// cold times tracing and compiling.
func (b *gradBench) cold(_ context.Context, backend xlabridge.Backend, l *gradbench.Loaded, p *pairs) error {
	o := gradOptions
	o.NoCache = true
	again, cold, err := l.Workload.Load(backend, o)
	if err != nil {
		return err
	}
	if err := again.Close(); err != nil {
		return err
	}
	p.ours = append(p.ours, cold.Trace+cold.Compile)
	if b.peer == nil {
		return nil
	}
	if cold, err = b.peer.cold(l.Name); err != nil {
		return err
	}
	p.theirs = append(p.theirs, cold.Trace+cold.Compile)
	return nil
}

// start times processes from their start to their first result, with a cache that an earlier process has filled.
func (b *gradBench) start(ctx context.Context, _ xlabridge.Backend, l *gradbench.Loaded, p *pairs) error {
	if b.flags.Backend == console.Reference {
		return nil
	}
	cache, remove, err := scratchCache()
	if err != nil {
		return err
	}
	defer remove()
	seconds, err := twice(func() (*exec.Cmd, error) {
		return ownProcess(ctx, b.flags.BackendFlags, cache, "bench", "grad", "--first", l.Name)
	})
	if err != nil {
		return err
	}
	p.ours = append(p.ours, seconds)
	if b.peer == nil {
		return nil
	}
	if seconds, err = twice(func() (*exec.Cmd, error) {
		return b.peer.command(ctx, "--cache", filepath.Join(cache, "jax"), "--first", l.Name), nil
	}); err != nil {
		return err
	}
	p.theirs = append(p.theirs, seconds)
	return nil
}

// twice runs a command two times and gives the seconds to the second one's first line.
func twice(command func() (*exec.Cmd, error)) (seconds float64, err error) {
	for range 2 {
		cmd, err := command()
		if err != nil {
			return 0, err
		}
		if seconds, err = firstLine(cmd); err != nil {
			return 0, err
		}
	}
	return seconds, nil
}

// firstLine is the time from a process's start to its first line, which ends it as well.
func firstLine(cmd *exec.Cmd) (float64, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, lineErr := bufio.NewReader(out).ReadString('\n')
	seconds := time.Since(start).Seconds()
	if err := cmd.Wait(); err != nil || lineErr != nil {
		return 0, fmt.Errorf("%s failed: %s: %w", filepath.Base(cmd.Path), strings.TrimSpace(stderr.String()), errors.Join(err, lineErr))
	}
	return seconds, nil
}
