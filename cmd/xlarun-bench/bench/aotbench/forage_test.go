package aotbench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/policy/spiking"
	"xlarun/xlabridge"
)

// read reads a file of testdata.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

// The peers' Forage is ours: an episode of the same key and actions has the same rewards, observations and end. The
// files are what these commands print:
//
//	spiking_jax.py rewards 7 100 1,1,2,0,3,1,0,0
//	forage_jax.py check L0 7 100 1,1,2,0,3,1,0,0
//	forage_jax.py check L2 3 400 1,1,2,0,3,1,4,0,2,2,1,0,0,3,3,1
func TestPeersLevelsAreOurs(t *testing.T) {
	for _, name := range []string{"spiking_jax-L0.json", "forage_jax-L0.json", "forage_jax-L2.json"} {
		t.Run(name, func(t *testing.T) {
			var want struct {
				Env                   string
				Seed                  int64
				Actions               []int32
				Rewards, Observations []float64
				End                   int // 0: it is not in the file
			}
			read(t, name, &want)
			env, err := envs.Make(want.Env)
			require.NoError(t, err)
			actions := make([]int32, len(want.Rewards))
			for i := range actions {
				actions[i] = want.Actions[i%len(want.Actions)]
			}
			key, p := random.New(want.Seed), env.DefaultParams()
			type step struct{ Number, Action *graph.Array }
			type played struct{ Reward, Observation, Ended *graph.Array }
			all, err := xlabridge.Jit(&xlabridge.Reference{}, func(s step) played {
				start, _ := env.Reset(random.FoldIn(key, 0), p)
				_, all := graph.Scan(func(state any, s step) (any, played) {
					seen := env.Observe(state, p)
					places := graph.Convert(graph.Add(graph.Iota(seen.Size()), 1), graph.Float32)
					next, _, reward, terminated, truncated := env.Step(random.FoldIn(key, s.Number), state, s.Action, p)
					ended := terminated.Or(truncated).Convert(graph.Float32)
					return next, played{reward, graph.Dot(seen, places), ended}
				}, start, s)
				return all
			})(step{graph.Add(graph.Iota(len(actions)), 1), graph.Int32s(actions)})
			require.NoError(t, err)
			floats := func(x *graph.Array) []float64 { return graphtest.Floats(t, x) }
			require.InDeltaSlice(t, want.Rewards, floats(all.Reward), 0)
			require.InDeltaSlice(t, want.Observations, floats(all.Observation), 1e-3)
			require.Contains(t, want.Rewards, 1.)
			if want.End > 0 {
				ended := floats(all.Ended)
				require.Zero(t, ended[want.End-2])
				require.Equal(t, 1., ended[want.End-1])
			}
		})
	}
}

// The peers' policies are ours: the same parameters and observations of Forage-L0-v1 make the same outputs. The files
// are what `forage_jax.py outputs gru:16 12` and `forage_jax.py outputs spiking:32,16 12` print.
func TestPeersPoliciesAreOurs(t *testing.T) {
	const inputs, outputs = 25, 4
	seed := uint32(0)
	drawn := func(dims ...int) *graph.Array { // in the order of JAX's trees: names of arrays sorted
		seed++
		return numbers.Uniform(seed, 1, dims...)
	}
	gru := func() any {
		const units = 16
		b, out, bn := drawn(3*units), drawn(outputs), drawn(units)
		w, wh, wx := drawn(units, outputs), drawn(units, 3*units), drawn(inputs, 3*units)
		return policy.Recurrent[nn.GRU]{Cell: nn.GRU{Wx: wx, Wh: wh, B: b, BN: bn}, Out: nn.Dense{W: w, B: out}}
	}
	neurons := func() any {
		layer := func(in, out int) spiking.Genes {
			g := spiking.Genes{B: drawn(out), Membrane: drawn(out), Threshold: drawn(out), W: drawn(in, out)}
			g.Synapse, g.Adaptation, g.Jump = graph.ZerosLike(g.B), graph.ZerosLike(g.B), graph.ZerosLike(g.B)
			return g
		}
		hidden := []spiking.Genes{layer(inputs, 32), layer(32, 16)}
		last := layer(16, outputs)
		return policy.SpikingParams{Layers: hidden, Out: policy.Readout{Dense: nn.Dense{W: last.W, B: last.B},
			Membrane: last.Membrane}}
	}
	env, err := envs.Make("Forage-L0-v1")
	require.NoError(t, err)
	spec := env.Spec()
	for name, params := range map[string]func() any{"outputs-gru.json": gru, "outputs-spiking.json": neurons} {
		t.Run(name, func(t *testing.T) {
			var want struct {
				Policy  string
				Outputs [][]float64
			}
			read(t, name, &want)
			p, _, err := policy.Make(want.Policy, nil, spec.Observation, spec.Action)
			require.NoError(t, err)
			seed = 0
			given := params()
			seen := numbers.Classes(100, 2, len(want.Outputs), inputs)
			all, err := xlabridge.Jit(&xlabridge.Reference{}, func(seen *graph.Array) *graph.Array {
				_, all := graph.Scan(func(carry any, x *graph.Array) (any, *graph.Array) {
					next, out := p.Act(given, carry, x, random.New(0))
					return next, out.Action
				}, p.Start(given), seen.Convert(graph.Float32))
				return all
			})(seen)
			require.NoError(t, err)
			got := graphtest.Floats(t, all)
			for i, row := range want.Outputs {
				require.InDeltaSlice(t, row, got[i*outputs:(i+1)*outputs], 1e-4, "step %d", i)
			}
		})
	}
}
