package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

// calibration is what this machine reaches in programs that never change, larger is faster. The keys are matmul
// (GFLOP/s), memory (GB/s), c-small and c-wide (millions of environment steps a second); those that could not be
// measured are missing.
type calibration map[string]float64

// cPrograms are the sizes of rollout_limit.c, those of the workloads rollouts-small and rollouts-wide.
var cPrograms = []struct {
	key                string
	population, hidden int
}{{"c-small", 256, 16}, {"c-wide", 1024, 64}}

// calibrate measures the machine.
func (b *bench) calibrate(ctx context.Context) (calibration, error) {
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = backend.Close() }()
	devices := backend.NumDevices()
	if b.flags.Devices > 0 {
		devices = min(devices, b.flags.Devices)
	}
	m, err := machine.Measure(backend, devices)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	c := calibration{"matmul": m.MatmulGFLOPs, "memory": m.MemoryGBs}
	for _, p := range cPrograms {
		speed, err := runLimit(ctx, p.population, p.hidden)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // a machine without a compiler is calibrated by the rest
			if !b.withoutC {
				fmt.Fprintf(b.Out, "no hand-written C: %s\n", console.OneLine(err))
			}
			b.withoutC = true
			break
		}
		c[p.key] = speed
	}
	return c, nil
}

// middle is the median of each figure.
func middle(samples []calibration) calibration {
	values := map[string][]float64{}
	for _, s := range samples {
		for key, x := range s {
			values[key] = append(values[key], x)
		}
	}
	var c calibration
	for key, x := range values {
		if c == nil {
			c = calibration{}
		}
		c[key] = machine.Median(x)
	}
	return c
}

// String is "matmul 450 GFLOP/s, memory 22 GB/s, C 30 and 18 M steps/s".
func (c calibration) String() string {
	text := fmt.Sprintf("matmul %.3g GFLOP/s, memory %.3g GB/s", c["matmul"], c["memory"])
	if c["c-small"] > 0 && c["c-wide"] > 0 {
		text += fmt.Sprintf(", C %.3g M steps/s with small and %.3g with wide members", c["c-small"], c["c-wide"])
	}
	return text
}

// runLimit is the hand-written program's speed, the fastest run, in millions of environment steps a second.
func runLimit(ctx context.Context, population, hidden int) (float64, error) {
	program, err := compileC(ctx, "rollout_limit.c", fmt.Sprintf("-DH=%d", hidden))
	if err != nil {
		return 0, err
	}
	out, err := outputOf(exec.CommandContext(ctx, program, strconv.Itoa(population)))
	if err != nil {
		return 0, fmt.Errorf("rollout_limit.c failed: %w", err)
	}
	return parseLimit(out)
}

var limitLine = regexp.MustCompile(`(?m)^C limit POP=.* ([0-9.]+) M steps/s$`)

func parseLimit(out string) (float64, error) {
	best, err := largest(limitLine, out)
	if err != nil {
		return 0, err
	}
	if best == 0 {
		return 0, fmt.Errorf("rollout_limit.c printed %q, which holds no speed", out)
	}
	return best, nil
}
