package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// engines gathers what a command makes, from several goroutines.
type engines struct {
	mu   sync.Mutex
	made []*fakeEngine
}

func (e *engines) make(_ xlabridge.Backend, c evolve.Config) (engine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := &fakeEngine{config: c}
	if c.Population == 666 {
		return nil, errors.New("the compiler gave up")
	}
	if c.Population == 888 {
		f.failAt = -1
	}
	e.made = append(e.made, f)
	return f, nil
}

func TestWarmupCompilesEachProgramOnce(t *testing.T) {
	b, made := newBed(t), &engines{}
	b.app.newEngine = made.make
	b.write(t, "a.toml", "env = \"CartPole-v1\"\npop = 64\nseed = 1\n")
	b.write(t, "b.toml", "env = \"CartPole-v1\"\npop = 64\nseed = 2\nsigma = 0.5\ngenerations = 7\n") // the same program
	b.write(t, "c.toml", "env = \"CartPole-v1\"\npop = 128\n")
	b.write(t, "d.toml", "env = \"Acrobot-v1\"\ndevices = 3\n") // another backend
	require.Equal(t, StatusOK, b.do("warmup", "a.toml", "b.toml", "c.toml", "d.toml", "MountainCar-v0", "--policy", "mlp:8", "--json"), "%s", b.err)
	require.Empty(t, b.err.String())
	require.Equal(t, 2, b.opened, "once for each set of devices")
	var got struct {
		Ready, Hits int
		Programs    []warmupTask
	}
	text, err := json.Marshal(result(t, b))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, 4, got.Ready)
	require.Equal(t, 4, got.Hits)
	require.Len(t, got.Programs, 4)
	first := got.Programs[0]
	require.Equal(t, []string{"a.toml", "b.toml"}, first.Experiments)
	require.Equal(t, "evolve CartPole-v1, 64 x mlp:8, openes, 500 steps", first.Program, "the command line's flags hold for all")
	require.Equal(t, "hit", first.Cache)
	require.Equal(t, 12345, first.Bytes)
	require.Equal(t, .002, first.WarmUpSeconds)
	require.Len(t, made.made, 4)
	for _, e := range made.made {
		require.Equal(t, 1, e.warmed)
		require.Zero(t, e.done)
	}
	require.Contains(t, b.out.String(), "4 programs ready (4 from the cache)")
	require.Equal(t, []string{"a.toml", "b.toml", "c.toml", "d.toml"}, b.files(t), "nothing is written")
}

// Plans are measured one at a time and before anything is compiled; programs are compiled several at a time.
func TestWarmupMeasuresAloneAndCompilesTogether(t *testing.T) {
	b := newBed(t)
	var mu sync.Mutex
	var events []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, fmt.Sprintf(format, args...))
	}
	tune, make := b.app.tune, b.app.newEngine
	b.app.tune = func(x xlabridge.Backend, c evolve.Config) (evolve.Choice, error) {
		note("tune %d %s", c.Population, c.Tune)
		defer note("tuned %d", c.Population)
		return tune(x, c)
	}
	both := sync.WaitGroup{}
	both.Add(2)
	b.app.newEngine = func(x xlabridge.Backend, c evolve.Config) (engine, error) {
		both.Done()
		both.Wait() // for ever, if programs were compiled one by one
		note("compile %s", c.Tune)
		mu.Lock()
		defer mu.Unlock()
		return make(x, c)
	}
	b.write(t, "a.toml", "pop = 64\n")
	b.write(t, "b.toml", "pop = 128\ntune = \"off\"\n")
	require.Equal(t, StatusOK, b.do("warmup", "a.toml", "b.toml", "--jobs", "2", "--json"), "%s", b.err)
	require.Equal(t, []string{"tune 64 quick", "tuned 64", "tune 128 off", "tuned 128"}, events[:4], "quick is the default")
	require.ElementsMatch(t, []string{"compile auto", "compile off"}, events[4:])

	for _, line := range []string{
		"plan of evolve CartPole-v1, 64 x mlp:16,16, openes, 500 steps: 2 devices, tiles of 8 (tuned: 2 plans measured in 500 ms)\n" +
			"  tried tiles of 16: 3 ms\n  tried tiles of 8: 2 ms\n",
		"plan of evolve CartPole-v1, 128 x mlp:16,16, openes, 500 steps: 2 devices, tiles of 8 (static)\n",
	} {
		require.Contains(t, b.out.String(), line)
	}
	first := result(t, b)["programs"].([]any)[0].(map[string]any)
	require.Equal(t, "tuned", first["plan_source"])
	require.Len(t, first["plans_tried"], 2)
}

func TestWarmupReportsFailures(t *testing.T) {
	b, made := newBed(t), &engines{}
	b.app.newEngine = made.make
	b.write(t, "a.toml", "pop = 666\n")
	b.write(t, "b.toml", "pop = 64\n")
	b.write(t, "c.toml", "pop = 888\n")
	require.Equal(t, StatusFailed, b.do("warmup", "a.toml", "b.toml", "c.toml"))
	require.Equal(t, "xlarun warmup: 2 programs failed: a.toml: the compiler gave up c.toml: the device caught fire\n", b.err.String())
	require.Contains(t, b.out.String(), "1 program ready")
}

func TestProfile(t *testing.T) {
	b := newBed(t)
	b.write(t, "e.toml", "env = \"CartPole-v1\"\npop = 64\nsteps = 100\nbackend = \"reference\"\n")
	require.Equal(t, StatusOK, b.do("profile", "e.toml", "--repeats", "3", "--json"), "%s", b.err)
	require.Empty(t, b.err.String())
	require.Equal(t, 4, b.engine.done)
	for _, want := range []string{"evolve CartPole-v1, 64 x mlp:16,16, openes, 100 steps", "trace ", "load from the cache", "state to the devices",
		"generation ", "6.4 M steps/s, median of 3", "  ask ", "  play ", "  tell ", "memory: ", "roofline: "} {
		require.Contains(t, b.out.String(), want)
	}
	r := result(t, b)
	require.EqualValues(t, 6.4e6, r["steady_steps_per_second"])
	require.Len(t, r["phases"], 3)
	roof := r["roofline"].(map[string]any)
	require.EqualValues(t, 2*1024*1024, roof["flops"], "1024 products of 8 x 8 on 2 devices")
	require.InEpsilon(t, 2*1024*1024/.001/1e9, roof["gflops_per_second"], 1e-9)
	for _, key := range []string{"matmul_gflops_per_second", "memory_gb_per_second"} {
		require.Positive(t, r["machine"].(map[string]any)[key], key)
	}
	require.Positive(t, r["peak_memory_bytes"])
	require.Equal(t, []string{"e.toml"}, b.files(t), "nothing is written")
}

// realRun runs a command line on the CPU plugin and gives its line of JSON.
func realRun(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, StatusOK, Run(context.Background(), append(args, "--json"), Streams{Out: &stdout, Err: &stderr, Env: os.Getenv}), "%s", &stderr)
	require.Empty(t, stderr.String())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
	return r
}

// TestWarmupOnTheRealThing: what warmup compiled, evolve and a second warmup find in the cache.
func TestWarmupOnTheRealThing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, bench.EmptyCache(dir))
	t.Setenv("XLARUN_CACHE", dir)
	run := func(args ...string) map[string]any {
		t.Helper()
		return realRun(t, args...)
	}
	experiment := []string{"CartPole-v1", "--pop", "8", "--steps", "5", "--policy", "linear", "--devices", "2"}
	first := run(append([]string{"warmup"}, experiment...)...)
	require.EqualValues(t, 0, first["hits"])
	require.Positive(t, first["programs"].([]any)[0].(map[string]any)["bytes"])
	second := run(append([]string{"warmup"}, experiment...)...)
	require.EqualValues(t, 1, second["hits"])
	evolved := run(append([]string{"evolve", "--out", "none", "--generations", "2"}, experiment...)...)
	require.Equal(t, "hit", evolved["cache"])

	entries, err := cache.New(must(xlabridge.DefaultCacheDir())).List()
	require.NoError(t, err)
	i := slices.IndexFunc(entries, func(e cache.Entry) bool {
		return e.Meta.Purpose == "evolve CartPole-v1, 8 x linear, openes, 5 steps"
	})
	require.GreaterOrEqual(t, i, 0, "the cache says what an entry is for")

	p := run(append([]string{"profile", "--repeats", "2"}, experiment...)...)
	require.Equal(t, "hit", p["program"].(map[string]any)["cache"])
	require.Positive(t, p["predicted_memory_bytes_per_device"])
	require.Positive(t, p["roofline"].(map[string]any)["flops"])
}
