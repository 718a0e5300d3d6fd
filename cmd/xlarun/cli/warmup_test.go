package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/evolve"
)

func TestWarmupCompilesEachProgramOnce(t *testing.T) {
	b := newBed(t)
	b.write(t, "a.toml", "kind = 'drift'\nenv = 'CartPole-v1'\npop = 64\nseed = 1\n")
	// the same program
	b.write(t, "b.toml", "kind = 'drift'\nenv = 'CartPole-v1'\npop = 64\nseed = 2\nsigma = 0.5\ngenerations = 7\n")
	b.write(t, "c.toml", "kind = 'drift'\nenv = 'CartPole-v1'\npop = 128\n")
	b.write(t, "d.toml", "kind = 'drift'\nenv = 'Acrobot-v1'\ndevices = 3\n")                  // another backend
	b.write(t, "e.toml", "kind = 'drift'\nenv = 'CartPole-v1'\npop = 64\neval-episodes = 3\n") // what judges is another
	b.ok(t, "warmup a.toml b.toml c.toml d.toml e.toml drift --policy mlp:8 --json")
	require.Empty(t, b.err.String())
	require.Equal(t, 2, b.opened, "once for each set of devices")
	var got struct {
		Ready, Hits int
		Programs    []struct {
			Program, Cache string
			Experiments    []string
			Bytes          int
			Seconds        *float64 `json:"warm_up_seconds"`
		}
	}
	text, err := json.Marshal(result(t, b))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, 5, got.Ready)
	require.Equal(t, 5, got.Hits)
	require.Len(t, got.Programs, 5)
	first := got.Programs[0]
	require.Equal(t, []string{"a.toml", "b.toml"}, first.Experiments)
	require.Equal(t, "drift of evolve CartPole-v1, 64 x mlp:8, openes, 500 steps", first.Program,
		"the command line's flags hold for all")
	require.Equal(t, "hit", first.Cache)
	require.Equal(t, 12345, first.Bytes)
	require.NotNil(t, first.Seconds)
	require.Len(t, fakes.made, 5)
	for _, r := range fakes.made {
		require.Equal(t, 1, r.stepped, "one real round")
		require.Zero(t, r.done, "whose result is dropped")
	}
	require.Contains(t, b.out.String(), "5 experiments ready (5 from the cache)")
	require.Equal(t, []string{"a.toml", "b.toml", "c.toml", "d.toml", "e.toml"}, b.files(t), "nothing is written")
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
	fakes.shape.tune = func(c evolve.Config) {
		note("tune %d %s", c.Population, c.Tune)
		defer note("tuned %d", c.Population)
	}
	both := sync.WaitGroup{}
	both.Add(2)
	fakes.shape.start = func(c evolve.Config) error {
		both.Done()
		both.Wait() // for ever, if programs were compiled one by one
		note("compile %s", c.Tune)
		return nil
	}
	b.write(t, "a.toml", "kind = 'drift'\npop = 64\n")
	b.write(t, "b.toml", "kind = 'drift'\npop = 128\ntune = 'off'\n")
	b.ok(t, "warmup a.toml b.toml --jobs 2 --json")
	require.Equal(t, []string{"tune 64 quick", "tuned 64", "tune 128 off", "tuned 128"}, events[:4],
		"quick is the default")
	require.ElementsMatch(t, []string{"compile auto", "compile off"}, events[4:])

	for _, line := range []string{
		"plan of drift of evolve CartPole-v1, 64 x mlp:16,16, openes, 500 steps: 2 devices, tiles of 8 (tuned: 2 " +
			"plans measured in 500 ms)\n" +
			"  tried tiles of 16: 3 ms\n  tried tiles of 8: 2 ms\n",
		"plan of drift of evolve CartPole-v1, 128 x mlp:16,16, openes, 500 steps: 2 devices, tiles of 8 (static)\n",
	} {
		require.Contains(t, b.out.String(), line)
	}
	first := result(t, b)["programs"].([]any)[0].(map[string]any)
	require.Equal(t, "tuned", first["plan_source"])
	require.Len(t, first["plans_tried"], 2)
}

// A program is compiled by the plan that was stored, and the experiment keeps its own setting.
func TestWarmupKeepsTune(t *testing.T) {
	newBed(t)
	var started string
	fakes.shape.start = func(c evolve.Config) error { started = c.Tune; return nil }
	e := must((&flagValues{values: map[string]string{"tune": "quick"}}).readTask("drift"))
	must((&warmupTask{task: e}).startPlanned(t.Context(), nil))
	require.Equal(t, []string{"auto", "quick", "quick"},
		[]string{started, e.Experiment.(*fakeExperiment).Tune, e.job.Plan.Tune})
}

func TestWarmupReportsFailures(t *testing.T) {
	b := newBed(t)
	fakes.shape.start = func(c evolve.Config) error {
		if c.Population == 666 {
			return errors.New("the compiler gave up")
		}
		return nil
	}
	b.write(t, "a.toml", "kind = 'drift'\npop = 666\n")
	b.write(t, "b.toml", "kind = 'drift'\npop = 64\n")
	require.Equal(t, StatusFailed, b.do("warmup", "a.toml", "b.toml"))
	require.Equal(t, "xlarun warmup: 1 program failed: a.toml: the compiler gave up\n", b.err.String())
	require.Contains(t, b.out.String(), "1 experiment ready")

	b = newBed(t)
	fakes.shape.failAt = 1
	b.write(t, "c.toml", "kind = 'drift'\npop = 64\n")
	require.Equal(t, StatusFailed, b.do("warmup", "c.toml"))
	require.Equal(t, "xlarun warmup: 1 program failed: c.toml: the device caught fire\n", b.err.String())
}

func TestPhaseRepeats(t *testing.T) {
	for _, c := range []struct {
		rounds  int
		seconds float64
		want    int
	}{{20, .002, 20}, {1000, .002, 250}, {20, .05, 10}, {20, 3, 5}, {3, 3, 3}, {1, 0, 1}, {20, math.Inf(1), 5}} {
		require.Equal(t, c.want, phaseRepeats(c.rounds, c.seconds), "%+v", c)
	}
}

func TestProfile(t *testing.T) {
	b := newBed(t)
	b.write(t, "e.toml", "kind = 'drift'\nenv = 'CartPole-v1'\npop = 64\nsteps = 100\ngenerations = 3\nbackend = "+
		"'reference'\n")
	b.ok(t, "profile e.toml --repeats 3 --json")
	require.Empty(t, b.err.String())
	require.Equal(t, 4, fakes.made[0].stepped)
	require.Equal(t, 1, fakes.made[0].done, "the run began anew after its last generation")
	for _, want := range []string{"drift of evolve CartPole-v1, 64 x mlp:16,16, openes, 100 steps, on 2 reference " +
		"devices", "plan (stored): 2 devices, tiles of 8", "trace ",
		"load from the cache", "state to the devices", "first gust ", "generation ",
		" steps/s (environment steps of all members), median of 3", "part, by itself ", "times per generation",
		"  ask            100 us  1 ", "  play           800 us  1                     80.0 %  1.6 M  2 ",
		"  tell           1 ms    0.1 ",
		"the parts take 1 ms together and the whole generation takes ",
		"memory: ", "roofline: 2 M flop and 1 MB per generation"} {
		require.Contains(t, b.out.String(), want)
	}
	r := result(t, b)
	require.Equal(t, "drift", r["kind"])
	require.InEpsilon(t, 6400/r["unit_seconds"].(float64), r["steady_steps_per_second"], 1e-9)
	require.Equal(t, r["unit_seconds"], r["round_seconds"])
	require.Len(t, r["phases"], 3)
	share := map[string]float64{"ask": .1, "play": .8, "tell": .1}
	for _, x := range r["phases"].([]any) {
		p := x.(map[string]any)
		name := p["name"].(string)
		require.InEpsilon(t, share[name], p["share"], 1e-9, name)
		require.Equal(t, name == "play", p["roofline"] != nil, name)
	}
	played := r["phases"].([]any)[1].(map[string]any)["roofline"].(map[string]any)
	require.InEpsilon(t, 2, played["gflops_per_second"], 1e-9)
	roof := r["roofline"].(map[string]any)
	require.EqualValues(t, 2e6, roof["flops"])
	require.InEpsilon(t, 2e6/r["unit_seconds"].(float64)/1e9, roof["gflops_per_second"], 1e-9)
	for _, key := range []string{"matmul_gflops_per_second", "memory_gb_per_second"} {
		require.Positive(t, r["machine"].(map[string]any)[key], key)
	}
	require.Positive(t, r["peak_memory_bytes"])
	require.Equal(t, []string{"e.toml"}, b.files(t), "nothing is written")

	// A kind whose programs cannot be looked at says so.
	require.Equal(t, StatusFailed, b.do("inspect", "e.toml"))
	require.Contains(t, b.err.String(), "runs of drift show no program")
}
