package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/bench/parallelbench"
)

// parallelSteps are those of an episode, on either side.
const parallelSteps = 200

// evolveStudy is a study of trials that evolve CartPole.
type evolveStudy struct {
	tier             parallelbench.Tier
	trials           int
	workers, threads int
	sampler          string
	export           bool // the trials end the output as CSV
}

// spec writes its file.
func (s evolveStudy) spec(b *parallelBench) (path string, err error) {
	path = b.file("study.toml")
	text := fmt.Sprintf(`name = "parallel"
storage = "sqlite:///%s"
kind = "evolve"
metric = "mean_fitness"
seeds = %d
trials = %d
sampler = %q
window = %d
workers = %d
threads = %d
checkpoint-every = "none"
[run]
env = "CartPole-v1"
pop = %d
generations = %d
steps = %d
target = 0
strategy = "openes"
policy = "mlp:16,16"
[[param]]
name = "strategy.sigma"
type = "float"
low = 0.02
high = 0.5
log = true
[[param]]
name = "strategy.learning-rate"
type = "float"
low = 0.01
high = 0.5
log = true
`, b.file("study.db"), s.tier.Seeds, s.trials, s.sampler, max(4, 2*s.workers), s.workers, s.threads, s.tier.Population, s.tier.Generations, parallelSteps)
	return path, os.WriteFile(path, []byte(text), 0o666)
}

// command runs it.
func (s evolveStudy) command(ctx context.Context, b *parallelBench) (*exec.Cmd, error) {
	path, err := s.spec(b)
	if err != nil {
		return nil, err
	}
	if s.export {
		return exec.CommandContext(ctx, "/bin/sh", "-c", `"$0" study run "$1" && "$0" study export "$1" --out "$1.jsonl" && cat "$1.jsonl"`, b.self, path), nil
	}
	return exec.CommandContext(ctx, b.self, "study", "run", path, "--json"), nil
}

func (s evolveStudy) side(ctx context.Context, b *parallelBench, name string) parallelSide {
	return parallelSide{name: name, make: func() ([]*exec.Cmd, error) {
		cmd, err := s.command(ctx, b)
		return []*exec.Cmd{cmd}, err
	}}
}

// exported are the values of a study's trials by number, from what was printed.
func exported(out string) (values []float64, err error) {
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var t struct{ Values []float64 }
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return nil, err
		}
		if len(t.Values) != 1 {
			return nil, fmt.Errorf("a trial ended without a value: %s", strings.TrimSpace(line))
		}
		values = append(values, t.Values[0])
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no trials were exported")
	}
	return values, nil
}

// warm runs a study of a trial, so that what is measured later finds its program in the cache, as all but the first start do.
func (b *parallelBench) warm(ctx context.Context, tier parallelbench.Tier, threads ...int) error {
	for _, n := range threads {
		cmd, err := evolveStudy{tier, 1, 1, n, "random", false}.command(ctx, b)
		if err != nil {
			return err
		}
		if _, err := outputOf(cmd); err != nil {
			return fmt.Errorf("a study of one trial failed: %w", err)
		}
	}
	return nil
}

// evolveRun is one run without a study, on so many devices; 0: all.
func (b *parallelBench) evolveRun(ctx context.Context, tier parallelbench.Tier, seed, devices int) *exec.Cmd {
	return exec.CommandContext(ctx, b.self, "evolve", "CartPole-v1", "--pop", strconv.Itoa(tier.Population), "--generations", strconv.Itoa(tier.Generations), "--steps", strconv.Itoa(parallelSteps),
		"--target", "0", "--strategy", "openes", "--policy", "mlp:16,16", "--seed", strconv.Itoa(seed), "--devices", strconv.Itoa(devices), "--tune", "off", "--judge", "2", "--out", b.file("run"))
}
