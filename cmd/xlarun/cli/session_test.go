package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph/safetensors"
	"xlarun/rollout/evolve"
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

// A run that chooses its precision says which it took. Without a folder nothing did.
func TestChosenPrecisionIsSaid(t *testing.T) {
	b := newBed(t)
	b.ok(t, "ppo Pendulum-v1 --backend reference --policy mlp:3 --envs 4 --horizon 4 --epochs 1 --minibatches 1 "+
		"--steps 16 --env-param max-steps=5 --eval-episodes 1 --precision auto --out none")
	require.Regexp(t, `\nprogram: .*, precision f32\n`, b.out.String())
}

func TestRunEndsWhenSolved(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "48213")
	t.Setenv("SLURM_RESTART_COUNT", "2")
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("CartPole-v1", "--pop", "16", "--json"), "%s", b.err)
	require.Empty(t, b.err.String())
	require.NotContains(t, b.out.String(), "\x1b", "plain lines where there is no terminal")
	r := result(t, b)
	for key, want := range map[string]any{"kind": "drift", "env": "CartPole-v1", "strategy": "openes",
		"population": 16., "generations": 5., "seed": 0.,
		"mean_fitness": 500., "best_fitness": 507., "failed": nil, "env_steps": 5 * 16 * 3., "cache": "hit",
		"devices": 2., "wind": "west", "best_member_episodes": 2., "ended_by": "goal"} {
		require.Equal(t, want, r[key], key)
	}
	for _, key := range []string{"trace_seconds", "compile_seconds", "time_to_first_gust_seconds", "wall_seconds",
		"peak_memory_bytes", "steps_per_second", "best_member_mean_return"} {
		require.Positive(t, r[key], key)
	}
	require.Contains(t, []any{"mean", "best_ever"}, r["best_member"])
	require.Equal(t, false, r["solved"], "1: the saved member is below 475, whatever training reached")
	require.Len(t, r, 82, "these keys and no others")
	dir := filepath.Join("runs", "20260102-030405-CartPole-v1")
	require.Equal(t, dir, r["folder"])
	require.Contains(t, b.out.String(), "the run is in "+dir)
	require.Contains(t, b.out.String(), "reached the target in training in generation 5 after ")
	require.Contains(t, b.out.String(), " s: well blown; on new episodes the saved member does not reach it\n")
	require.Regexp(t, `the best member \((mean|best ever)\) has a mean return of \d+ ± \S+ over 2 new episodes`,
		b.out.String())
	files := b.files(t)
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "tfevents") })
	for i, f := range files {
		files[i], _ = filepath.Rel(dir, f)
	}
	require.Equal(t, []string{"best.gif", "best.safetensors", "checkpoints/000001.safetensors",
		"checkpoints/000005.safetensors", "config.toml", "final.safetensors", "metrics.jsonl", "profile.json",
		"timings.jsonl"}, files)
	require.Equal(t, 5, strings.Count(read(t, dir, "metrics.jsonl"), "\n"))
	require.NotContains(t, read(t, dir, "metrics.jsonl"), "seconds", "metrics are the same in every run")
	require.Equal(t, 5, strings.Count(read(t, dir, "timings.jsonl"), `"steps_per_second"`))
	require.Contains(t, read(t, dir, "profile.json"), `"steady_steps_per_second"`)
	require.Contains(t, read(t, dir, "profile.json"), `"wind": "west"`)
	require.Contains(t, read(t, dir, "profile.json"), `"slurm_job_id": 48213,`)
	require.Contains(t, read(t, dir, "profile.json"), `"slurm_restart_count": 2,`)
	require.Contains(t, read(t, dir, "checkpoints/000005.safetensors"), "pop = 16")
	require.Contains(t, read(t, dir, "config.toml"), "unroll = 4\n", "what was chosen for the run")
}

func TestRunTargets(t *testing.T) {
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
		require.Equal(t, StatusOK, b.drift(append([]string{"--generations", "12", "--json", "--out", "none"},
			c.args...)...), "%s", b.err)
		require.EqualValues(t, c.generations, result(t, b)["generations"], "%v", c.args)
		require.Empty(t, b.files(t), "--out none leaves no folder")
	}
}

func TestRunConfigFile(t *testing.T) {
	b := newBed(t)
	b.write(t, "file.toml", "env = 'Acrobot-v1'\npop = 64\nlearning_rate = 1\nseed = 9\njit = true\ntarget = "+
		"150.0\n[policy]\nname = 'mlp:4'\n")
	b.ok(t, "drift --config file.toml --pop 32 --steps=10 --eval-episodes=1 --out a")
	c := fakes.made[0].config
	require.Equal(t, "Acrobot-v1", c.Env)
	require.Equal(t, 32, c.Population, "the flag wins")
	require.EqualValues(t, 9, c.Seed)
	require.Equal(t, "mlp:4", c.Policy)
	require.Equal(t, "150", c.Target)
	require.EqualValues(t, 1, c.Parted["strategy.learning-rate"])

	// The resolved config repeats the run.
	b.ok(t, "drift --config a/config.toml --out b")
	b.ok(t, "drift a --out c")
	for _, again := range []string{"b", "c"} {
		for _, file := range []string{"config.toml", "metrics.jsonl", "best.safetensors"} {
			require.Equal(t, read(t, "a", file), read(t, again, file))
		}
	}

	// A folder that holds a run is not written over.
	b.refused(t, "--out a: it holds a run already: continue it by --resume a", "drift --out a")
}

// Settings of parts are written with the part's name or without it, with dashes or underscores, as flags or in tables.
func TestSettingsOfParts(t *testing.T) {
	for i, c := range []struct {
		args, toml string
		want       map[string]any // of Config.Parted
	}{
		{"--learning_rate 0.5 --sigma-decay=0.9", "", map[string]any{"strategy.learning-rate": "0.5",
			"strategy.sigma-decay": "0.9"}},
		{"--strategy.learning_rate 0.5", "", map[string]any{"strategy.learning-rate": "0.5"}},
		{"", "[strategy]\nname = 'openes'\nlearning_rate = 0.5\n", map[string]any{"strategy.learning-rate": .5}},
		{"", "sigma = 1\n[strategy]\nlearning-rate = 2\n", map[string]any{"strategy.sigma": int64(1),
			"strategy.learning-rate": int64(2)}},
		{"--sigma 3", "[strategy]\nsigma = 2\n", map[string]any{"strategy.sigma": "3"}},
		{"--strategy.sigma 3", "sigma = 2\n", map[string]any{"strategy.sigma": "3"}},
	} {
		b := newBed(t)
		args := append(strings.Fields(c.args), "--out", "none", "--generations", "1")
		if c.toml != "" {
			b.write(t, "file.toml", c.toml)
			args = append(args, "--config", "file.toml")
		}
		require.Equal(t, StatusOK, b.drift(args...), "%d: %s", i, b.err)
		require.EqualValues(t, c.want, fakes.made[0].config.Parted, "%d", i)
	}
}

func TestSecondRunGetsAFolderOfItsOwn(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift())
	require.Equal(t, StatusOK, b.drift(), "%s", b.err)
	require.FileExists(t, "runs/20260102-030405-CartPole-v1/config.toml")
	require.FileExists(t, "runs/20260102-030405-CartPole-v1-2/config.toml")
}

func TestRunThatFails(t *testing.T) {
	b := newBed(t)
	fakes.shape.failAt = 3
	require.Equal(t, StatusFailed, b.drift("--out", "run"))
	require.Equal(t, "xlarun drift: generation 3: the device caught fire\n", b.err.String())
	require.Equal(t, 2, strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
	require.FileExists(t, "run/checkpoints/000001.safetensors", "the last state that was held")
	require.Contains(t, b.out.String(), "stopped after generation 2: well blown")

	b = newBed(t)
	fakes.shape.failAt = 1
	require.Equal(t, StatusFailed, b.drift("--out", "run"))
	require.NoDirExists(t, "run", "a run that never began leaves nothing")

	b = newBed(t)
	fakes.shape.start = func(evolve.Config) error { return errors.New("the compiler gave up") }
	require.Equal(t, StatusFailed, b.drift("--out", "run"))
	require.Equal(t, "xlarun drift: the compiler gave up\n", b.err.String())
	require.NoDirExists(t, "run")

	b = newBed(t)
	b.App.OpenBackend = func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
		return nil, errors.New("backend cuda: no GPU is visible")
	}
	require.Equal(t, StatusFailed, b.drift("--backend", "cuda"))
	require.Equal(t, "xlarun drift: backend cuda: no GPU is visible\n", b.err.String())
	require.Empty(t, b.files(t))
}

func checkpoints(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "checkpoints"))
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
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
	fakes.shape.step = func(g int) {
		if g == 4 {
			close(started)
		}
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, StatusInterrupted, interruptible(t, b, started, "drift", "--policy", "linear", "--eval-episodes",
		"1",
		"--steps", "3", "--generations", "100000", "--target", "0", "--out", "run", "--json"))
	require.Regexp(
		t,
		`^xlarun drift: interrupted after generation (\d+); the state of generation \d+ is in `+
			`run/checkpoints/\d+\.safetensors\n$`, b.err.String())
	r := result(t, b)
	files, err := filepath.Glob("run/checkpoints/*")
	require.NoError(t, err)
	require.Contains(t, b.err.String(), files[len(files)-1])
	require.Equal(t, int(r["generations"].(float64)), strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
	require.Equal(t, generationOf(t, files[len(files)-1]), generationOf(t, "run/final.safetensors"),
		"the mean is that of the state")
	require.FileExists(t, "run/profile.json")
}

// generationOf is the generation that a file says it is of.
func generationOf(t *testing.T, path string) string {
	t.Helper()
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m := f.Metadata()
	return cmp.Or(m["generation"], m["step"])
}

// A call that cannot be stopped is left alone: the state held before it is what stays.
func TestInterruptInsideALongCall(t *testing.T) {
	b := newBed(t)
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	fakes.shape.step = func(g int) {
		if g == 3 {
			close(started)
			<-release
		}
	}
	require.Equal(t, StatusInterrupted, interruptible(t, b, started, "drift", "--policy", "linear", "--eval-episodes",
		"1",
		"--steps", "3", "--target", "0", "--out", "run"))
	held := regexp.MustCompile(`interrupted after generation 2; the state of generation [12] is in ` +
		`(run/checkpoints/00000[12].safetensors)`).FindStringSubmatch(b.err.String())
	require.NotNil(t, held, "%s", b.err)
	require.FileExists(t, held[1])
	require.Equal(t, generationOf(t, held[1]), generationOf(t, "run/final.safetensors"),
		"the mean is that of the state, though the devices are busy")
	require.Equal(t, 2, strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
}

func TestInterruptBeforeTheFirstGeneration(t *testing.T) {
	for _, where := range []string{"download", "compiler"} {
		t.Run(where, func(t *testing.T) {
			b := newBed(t)
			started, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			if where == "download" {
				b.App.OpenBackend = func(ctx context.Context, _ console.BackendFlags,
					l console.Listener) (xlabridge.Backend, error) {
					l.Download(10, 100)
					close(started)
					<-ctx.Done()
					return nil, console.ErrInterrupted
				}
			} else {
				fakes.shape.step = func(int) { close(started); <-release }
			}
			require.Equal(t, StatusInterrupted, interruptible(t, b, started, "drift"))
			require.Equal(t, "xlarun drift: interrupted before the first gust was done; nothing was written\n",
				b.err.String())
			require.NoDirExists(t, "runs")
		})
	}
}

// With --log json all that a run prints are lines of JSON for a log collector, one a generation, as the documentation
// shows it.
func TestLogOfARun(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/clusters.md")
	require.NoError(t, err)
	b := newBed(t)
	var shown map[string]any
	require.NoError(t, json.Unmarshal(regexp.MustCompile(`(?m)^{"time".*$`).Find(page), &shown))
	require.Equal(t, StatusOK, b.drift("--generations", "3", "--target", "0", "--out", "none", "--log", "json"), "%s",
		b.err)
	generations := 0
	for line := range strings.Lines(b.out.String()) {
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		require.Contains(t, r, "time")
		require.Equal(t, "INFO", r["level"])
		if r["msg"] == "generation" {
			generations++
			require.EqualValues(t, generations, r["generation"])
			for key, example := range shown {
				require.IsType(t, example, r[key], key)
			}
		}
	}
	require.Equal(t, 3, generations, b.out.String())
	b = newBed(t)
	require.Equal(t, StatusOK, b.drift("--generations", "1", "--target", "0", "--out", "none", "--log", "json",
		"--log-level", "warn"), "%s", b.err)
	require.Empty(t, b.out.String(), "there was no problem")
}
