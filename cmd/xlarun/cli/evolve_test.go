package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

// result decodes the last line of stdout.
func result(t *testing.T, b *bed) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &v), "%s", lines[len(lines)-1])
	return v
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

func TestEvolveEndsWhenSolved(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.do("evolve", "CartPole-v1", "--steps", "20", "--json"), "%s", b.err)
	require.Empty(t, b.err.String())
	require.NotContains(t, b.out.String(), "\x1b", "plain lines where there is no terminal")
	r := result(t, b)
	require.Equal(t, "CartPole-v1", r["env"])
	require.Equal(t, "openes", r["strategy"])
	require.EqualValues(t, 256, r["population"])
	require.EqualValues(t, 5, r["generations"], "a mean of 475 is reached in the fifth")
	require.EqualValues(t, 500, r["mean_fitness"])
	require.EqualValues(t, 507, r["best_fitness"])
	require.EqualValues(t, 5*256*20, r["env_steps"])
	require.EqualValues(t, 256*20/.001, r["steps_per_second"])
	require.Equal(t, "hit", r["cache"])
	require.EqualValues(t, 2, r["devices"])
	for _, key := range []string{"trace_seconds", "compile_seconds", "time_to_first_generation_seconds", "wall_seconds", "peak_memory_bytes"} {
		require.Positive(t, r[key], key)
	}
	require.Len(t, r, 15, "these keys and no others")
	dir := filepath.Join("runs", "20260102-030405-CartPole-v1")
	require.Contains(t, b.out.String(), "the run is in "+dir)
	files := b.files(t)
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "tfevents") })
	for i, f := range files {
		files[i], _ = filepath.Rel(dir, f)
	}
	require.Equal(t, []string{"best.gif", "best.safetensors", "checkpoints/000005.safetensors", "config.toml", "metrics.jsonl", "profile.json", "timings.jsonl"}, files)
	require.Equal(t, 5, strings.Count(read(t, dir, "metrics.jsonl"), "\n"))
	require.NotContains(t, read(t, dir, "metrics.jsonl"), "seconds", "metrics are the same in every run")
	require.Contains(t, read(t, dir, "profile.json"), `"steady_steps_per_second"`)
	require.Contains(t, read(t, dir, "checkpoints/000005.safetensors"), "pop = 256")
}

func TestEvolveTargets(t *testing.T) {
	for _, c := range []struct {
		args        []string
		generations int
	}{
		{[]string{"--target", "150"}, 2},
		{[]string{"--target", "0"}, 12},
		{[]string{"--target=0", "--generations", "3"}, 3},
		{[]string{"--env", "Acrobot-v1"}, 1}, // solved at -100
		{[]string{"--env", "Pendulum-v1"}, 12},
	} {
		b := newBed(t)
		require.Equal(t, StatusOK, b.do(append([]string{"evolve", "--generations", "12", "--json", "--out", "none"}, c.args...)...), "%s", b.err)
		require.EqualValues(t, c.generations, result(t, b)["generations"], "%v", c.args)
		require.Empty(t, b.files(t), "--out none leaves no folder")
	}
}

func TestEvolveConfigFile(t *testing.T) {
	b := newBed(t)
	b.write(t, "file.toml", "env = 'Acrobot-v1'\npop = 64\nlearning_rate = 1\nseed = 9\njit = true\ntarget = 150.0\n")
	require.Equal(t, StatusOK, b.do("evolve", "--config", "file.toml", "--pop", "32", "--steps=10", "--out", "a"), "%s", b.err)
	c := b.engine.config
	require.Equal(t, "Acrobot-v1", c.Env)
	require.Equal(t, 32, c.Population, "the flag wins")
	require.EqualValues(t, 9, c.Seed)
	require.EqualValues(t, 1, c.LearningRate)

	// The resolved config repeats the run.
	require.Equal(t, StatusOK, b.do("evolve", "--config", "a/config.toml", "--out", "b"), "%s", b.err)
	require.Equal(t, c, b.engine.config)
	require.Equal(t, read(t, "a", "config.toml"), read(t, "b", "config.toml"))
	require.Equal(t, read(t, "a", "metrics.jsonl"), read(t, "b", "metrics.jsonl"))

	// A folder that holds a run is not written over.
	require.Equal(t, StatusUsage, b.do("evolve", "--out", "a"))
	require.Contains(t, b.err.String(), "--out a cannot be written: it holds a run already")
}

func TestEvolveTakesUnderscores(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.do("evolve", "--learning_rate", "0.5", "--sigma-decay=0.9", "--out=none"), "%s", b.err)
	require.EqualValues(t, .5, b.engine.config.LearningRate)
	require.EqualValues(t, .9, b.engine.config.SigmaDecay)
}

func TestEvolveSecondRunGetsAFolderOfItsOwn(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.do("evolve", "--steps", "5"))
	require.Equal(t, StatusOK, b.do("evolve", "--steps", "5"), "%s", b.err)
	require.FileExists(t, "runs/20260102-030405-CartPole-v1/config.toml")
	require.FileExists(t, "runs/20260102-030405-CartPole-v1-2/config.toml")
}

func TestEvolveThatFails(t *testing.T) {
	b := newBed(t)
	b.shape.failAt = 3
	require.Equal(t, StatusFailed, b.do("evolve", "--out", "run"))
	require.Equal(t, "xlarun evolve: generation 3: the device caught fire\n", b.err.String())
	require.Equal(t, 2, strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
	require.FileExists(t, "run/checkpoints/000001.safetensors", "the last state that was held")

	b = newBed(t)
	b.shape.failAt = 1
	require.Equal(t, StatusFailed, b.do("evolve", "--out", "run"))
	require.NoDirExists(t, "run", "a run that never began leaves nothing")

	b = newBed(t)
	b.app.openBackend = func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
		return nil, errors.New("backend cuda: no GPU is visible")
	}
	require.Equal(t, StatusFailed, b.do("evolve", "--backend", "cuda"))
	require.Equal(t, "xlarun evolve: backend cuda: no GPU is visible\n", b.err.String())
	require.Empty(t, b.files(t))
}

// interruptible runs the command, ends its context once started is closed, and returns the status.
func interruptible(t *testing.T, b *bed, started <-chan struct{}, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	status := make(chan int, 1)
	go func() { status <- b.run(ctx, args) }()
	<-started
	cancel()
	select {
	case s := <-status:
		return s
	case <-time.After(time.Minute):
		t.Fatal("the command goes on after an interrupt")
		return -1
	}
}

func TestInterruptBetweenGenerations(t *testing.T) {
	b := newBed(t)
	started := make(chan struct{})
	b.shape.step = func(g int) {
		if g == 4 {
			close(started)
		}
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, StatusInterrupted, interruptible(t, b, started, "evolve", "--generations", "100000", "--target", "0", "--out", "run", "--json"))
	require.Regexp(t, `^xlarun evolve: interrupted after generation (\d+); the state of generation \d+ is in run/checkpoints/\d+\.safetensors\n$`, b.err.String())
	r := result(t, b)
	files, err := filepath.Glob("run/checkpoints/*")
	require.NoError(t, err)
	require.Contains(t, b.err.String(), files[len(files)-1])
	require.Equal(t, int(r["generations"].(float64)), strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
	require.FileExists(t, "run/best.safetensors")
}

// A call that cannot be stopped is left alone: the state held before it is what stays.
func TestInterruptInsideALongCall(t *testing.T) {
	b := newBed(t)
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	b.shape.step = func(g int) {
		if g == 3 {
			close(started)
			<-release
		}
	}
	require.Equal(t, StatusInterrupted, interruptible(t, b, started, "evolve", "--target", "0", "--out", "run"))
	require.Contains(t, b.err.String(), "interrupted after generation 2; the state of generation 1 is in run/checkpoints/000001.safetensors")
	require.FileExists(t, "run/checkpoints/000001.safetensors")
	require.Equal(t, 2, strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
}

func TestInterruptBeforeTheFirstGeneration(t *testing.T) {
	for _, where := range []string{"download", "compiler"} {
		t.Run(where, func(t *testing.T) {
			b := newBed(t)
			started, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			if where == "download" {
				b.app.openBackend = func(ctx context.Context, _ console.BackendFlags, l console.Listener) (xlabridge.Backend, error) {
					l.Download(10, 100)
					close(started)
					<-ctx.Done()
					return nil, console.ErrInterrupted
				}
			} else {
				b.shape.step = func(int) { close(started); <-release }
			}
			require.Equal(t, StatusInterrupted, interruptible(t, b, started, "evolve"))
			require.Equal(t, "xlarun evolve: interrupted before the first generation was done; nothing was written\n", b.err.String())
			require.NoDirExists(t, "runs")
		})
	}
}
