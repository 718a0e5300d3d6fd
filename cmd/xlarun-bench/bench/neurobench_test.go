package bench_test

import (
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The peer's Forage levels are ours: an episode of the same key and actions has the same rewards and observations.
// testdata is what `neuro_jax.py rewards ENV 7 200 1,1,2,0,3,1,4,0` prints.
func TestPeersLevelsAreOurs(t *testing.T) {
	files, err := filepath.Glob("neurobench/testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		var want struct {
			Env                   string
			Seed                  int64
			Actions               []int32
			Rewards, Observations []float64
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &want))
		env, err := envs.Make(want.Env)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(want.Rewards), 40, file)
		actions := make([]int32, len(want.Rewards))
		for i := range actions {
			actions[i] = want.Actions[i%len(want.Actions)]
		}
		type played struct{ Reward, Observation *graph.Array }
		got, err := xlabridge.Jit(&xlabridge.Reference{}, func(actions *graph.Array) played {
			key, p := random.New(want.Seed), env.DefaultParams()
			state, _ := env.Reset(random.FoldIn(key, 0), p)
			type step struct{ Number, Action *graph.Array }
			_, all := graph.Scan(func(state any, s step) (any, played) {
				seen := env.Observe(state, p)
				places := graph.Convert(graph.Add(graph.Iota(seen.Size()), 1), graph.Float32)
				next, _, reward, _, _ := env.Step(random.FoldIn(key, s.Number), state, s.Action, p)
				return next, played{reward, graph.Dot(seen, places)}
			}, state, step{graph.Add(graph.Iota(len(want.Rewards)), 1), actions})
			return all
		})(graph.Int32s(actions))
		require.NoError(t, err)
		rewards := graphtest.Floats(t, got.Reward)
		seen := graphtest.Floats(t, got.Observation)
		require.InDeltaSlice(t, want.Rewards, rewards, 0, file)
		require.InDeltaSlice(t, want.Observations, seen, 1e-3, file)
	}
}

func TestSizes(t *testing.T) {
	day := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	size := neurobench.SizeOn(day)
	require.Equal(t, size, neurobench.SizeOn(day.Add(-20*time.Hour)), "one size a day")
	require.NotEqual(t, size, neurobench.SizeOn(day.AddDate(0, 0, 1)))
	for _, n := range append([]int{size.Population, size.Steps}, size.Hidden...) {
		require.True(t, big.NewInt(int64(n)).ProbablyPrime(0), "%d", n)
	}
	again, err := neurobench.ReadSize(size.String())
	require.NoError(t, err)
	require.Equal(t, size, again)
	for i, wrong := range []string{"", "x", "614", "614x40", "614x40x", "614x40,x271", "0x40x271", "614x-40x271",
		"614x40,40x271x3", "many x 40 x 3"} {
		_, err := neurobench.ReadSize(wrong)
		require.Error(t, err, "%d: %q", i+1, wrong)
	}
}

// A generation on a function brings its members nearer to the minimum.
func TestGenerationsDescend(t *testing.T) {
	b := xlatest.OpenCPU(t, 2)
	for i, c := range []struct {
		strategy   string
		n, members int
	}{{"cmaes", 10, 200}, {"openes", 300, 258}} { // tiles that are not full
		w := neurobench.Generations(c.strategy, c.n, c.members)
		r, err := w.Open(t.Context(), b, neurobench.Options{})
		require.NoError(t, err)
		seconds, first, err := r.Run(1)
		require.NoError(t, err)
		require.Len(t, seconds, 1)
		_, last, err := r.Run(40)
		require.NoError(t, err)
		require.Less(t, last, .8*first, "%d: %s", i+1, w.What)
		require.NoError(t, r.Close())
	}
}

// A population's mean return is the same on two devices and on one, and has the members that were asked for. The short
// form interprets one device.
func TestPlay(t *testing.T) {
	mean := func(b xlabridge.Backend, devices int) float64 {
		p, err := neurobench.OpenPlay(t.Context(), b, neurobench.Experiment("CartPole-v1", "mlp:5", 37, 50,
			neurobench.Options{Devices: devices, Tune: plan.TuneOff}))
		require.NoError(t, err)
		_, mean, err := p.Run(2)
		require.NoError(t, err)
		require.Greater(t, mean, 5.)
		require.Less(t, mean, 50.)
		require.NoError(t, p.Close())
		return mean
	}
	one := mean(&xlabridge.Reference{}, 1)
	if long.On() {
		b := xlatest.OpenCPU(t, 2)
		require.Equal(t, one, mean(b, 1))
		require.Equal(t, one, mean(b, 2))
	}
}

func TestScalingRows(t *testing.T) {
	most := 0
	for _, s := range neurobench.Scaling() {
		c := s.Experiment(plan.TuneOff, 2)
		require.NoError(t, c.Check(plan.Machine{Devices: 2, CPU: true}), "%s %s", s.Axis, s.At)
		most = max(most, s.Population)
	}
	require.Equal(t, 262144, most)
}
