package spikingbench

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// What `echo 1 | spiking_jax.py jax …` and `… spyx …` printed with JAX 0.10.2 and Spyx 1.0.0: the same to the last
// digit but one.
var theirs = map[string]float64{"members": 65.23277282714844, "gradient": 100.44477844238281}

// Workloads have the peers' results on one device and on two. The workload with a batch differs only in the batch.
func TestWorkloadsAreThePeers(t *testing.T) {
	for devices := 1; devices <= 2; devices++ {
		b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, NoCache: true})
		require.NoError(t, err)
		for name, want := range theirs {
			w := named(t, name)
			r, err := w.Open(b, neurobench.Options{Devices: devices})
			require.NoError(t, err, name)
			seconds, got, err := r.Run(2)
			require.NoError(t, err, name)
			require.Len(t, seconds, 2, name)
			require.InEpsilon(t, want, got, 1e-3, "%s on %d devices", name, devices)
			require.NoError(t, r.Close())
		}
		require.NoError(t, b.Close())
	}
}

// The peer's Forage-L0 is ours: an episode of the same key and actions has the same rewards and observations. testdata
// is what `spiking_jax.py rewards 7 100 1,1,2,0,3,1,0,0` prints.
func TestPeersLevelIsOurs(t *testing.T) {
	var want struct {
		Env                   string
		Seed                  int64
		Actions               []int32
		Rewards, Observations []float64
	}
	text, err := os.ReadFile("testdata/Forage-L0-v1.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	env, err := envs.Make(want.Env)
	require.NoError(t, err)
	require.Len(t, want.Rewards, 100)
	actions := make([]int32, len(want.Rewards))
	for i := range actions {
		actions[i] = want.Actions[i%len(want.Actions)]
	}
	key, p := random.New(want.Seed), env.DefaultParams()
	type step struct{ Number, Action *graph.Array }
	type played struct{ Reward, Observation *graph.Array }
	all, err := xlabridge.Jit1(&xlabridge.Reference{}, func(s step) played {
		start, _ := env.Reset(random.FoldIn(key, 0), p)
		_, all := graph.Scan(func(state any, s step) (any, played) {
			seen := env.Observe(state, p)
			places := graph.Convert(graph.Add(graph.Iota(seen.Size()), 1), graph.Float32)
			next, _, reward, _, _ := env.Step(random.FoldIn(key, s.Number), state, s.Action, p)
			return next, played{reward, graph.Dot(seen, places)}
		}, start, s)
		return all
	})(step{graph.Add(graph.Iota(len(actions)), 1), graph.Int32s(actions)})
	require.NoError(t, err)
	rewards, err := graph.Floats(all.Reward)
	require.NoError(t, err)
	seen, err := graph.Floats(all.Observation)
	require.NoError(t, err)
	require.InDeltaSlice(t, want.Rewards, rewards, 0)
	require.InDeltaSlice(t, want.Observations, seen, 1e-3)
	total := 0.
	for _, r := range rewards {
		total += r
	}
	require.Positive(t, total)
}

func named(t *testing.T, name string) Workload {
	t.Helper()
	i := slices.IndexFunc(All(), func(w Workload) bool { return w.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return All()[i]
}
