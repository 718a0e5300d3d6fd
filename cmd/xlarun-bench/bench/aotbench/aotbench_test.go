package aotbench

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/all"
	"xlarun/internal/long"
	_ "xlarun/rollout/islands"
	_ "xlarun/rollout/ppo"
	_ "xlarun/rollout/qd"
	_ "xlarun/rollout/selfplay"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/topology"
)

// small are programs of all kinds of run, as small as they compile fast.
func small() []Row {
	evolve := func(name string, more ...string) Row {
		given := map[string]string{"env": "CartPole-v1", "pop": "16", "steps": "4", "policy": "mlp:4"}
		for i := 0; i < len(more); i += 2 {
			given[more[i]] = more[i+1]
		}
		return Row{Name: name, Kind: "evolve", Program: "generation", Settings: given}
	}
	return []Row{
		evolve("perceptron", "policy", "mlp:16"), // whole vector registers: the same program with AVX2 and AVX-512
		evolve("batch last", "batch-last", "true", "unroll", "2"),
		evolve("recurrent", "policy", "gru:4"),
		evolve("images", "env", "Breakout-MinAtar-v1", "policy", "cnn:4"),
		evolve("spiking", "env", "Forage-L0-v1", "policy", "spiking:4"),
		evolve("cmaes", "strategy", "cmaes"),
		evolve("low rank", "strategy", "eggroll"),
		{Name: "ppo", Kind: "ppo", Settings: map[string]string{"env": "CartPole-v1", "envs": "4", "horizon": "8"}},
		{Name: "pqn", Kind: "pqn", Settings: map[string]string{"env": "CartPole-v1", "envs": "4", "horizon": "8"}},
		{Name: "selfplay", Kind: "selfplay", Settings: map[string]string{"vertices": "4", "k": "3",
			"num-simulations": "4", "num-episodes": "4", "game-batch-size": "4"}},
		{Name: "qd", Kind: "qd", Settings: map[string]string{"env": "CartPole-v1", "steps": "4"}},
		{Name: "islands", Kind: "islands", Settings: map[string]string{"env": "CartPole-v1", "steps": "4",
			"pop": "32"}},
	}
}

// Programs of all kinds compile for a GPU and for a TPU that are not there.
func TestAllKindsCompileAhead(t *testing.T) {
	long.OnlyAll(t)
	for _, r := range small() {
		for _, name := range []string{"h100", "v5e:2x2"} {
			t.Run(r.Name+" for "+name, func(t *testing.T) {
				on, err := topology.Parse(name)
				require.NoError(t, err)
				o := Options{Offline: os.Getenv("XLARUN_TOPOLOGIES") == "", Tune: "off"}
				got, err := Measure(t.Context(), r, on, o)
				if errors.Is(err, fetch.ErrNotInstalled) {
					t.Skip("the plugin is not installed: xlarun plugin install " + on.Backend +
						", or XLARUN_TOPOLOGIES=1")
				}
				require.NoError(t, err)
				require.Positive(t, got.Kernels)
				require.Positive(t, got.Arguments)
			})
		}
	}
}

// A step is counted in the loop with as many steps, which may be unrolled, with the loops inside it.
func TestCount(t *testing.T) {
	kernels := func(n int) []hlo.Kernel { return make([]hlo.Kernel, n) }
	loops := []hlo.Loop{
		{Name: "main", Trips: 1, Kernels: kernels(10), Collectives: []hlo.Kernel{{Opcode: "all-gather"}}},
		{Name: "tiles", Depth: 1, Kernels: kernels(7)},
		{Name: "steps", Depth: 2, Trips: 250, Kernels: kernels(8)},
		{Name: "inner", Depth: 3, Trips: 4, Kernels: kernels(2)},
		{Name: "other", Depth: 1, Trips: 3, Kernels: kernels(1)},
	}
	for _, c := range []struct {
		steps, without int64
		kernels        float64
		parts          string
	}{
		{500, 0, 8, "(8 + 4 x 2) / 2"},
		{250, 0, 16, "8 + 4 x 2"},
		{4, 0, 2, "2"},
		{3, 0, 1, "1"},
		{0, 0, 11 + 7 + 250*16 + 3, "11 + 1 x 7 + 250 x 8 + 1000 x 2 + 3 x 1"},
		{0, 500, 11 + 7 + 3, "11 + 1 x 7 + 3 x 1"},
		{100000, 0, 0, ""},
	} {
		var r Result
		r.count(loops, c.steps, c.without)
		require.Equal(t, c.parts, r.Parts, "%+v", c)
		require.InDelta(t, c.kernels, r.Kernels, 1e-9, "%+v", c)
		require.Equal(t, map[string]int{"all-gather": 1}, r.Collectives)
	}
}

// Of rounds of which one in ten runs the loops of unknown length, the mean is counted.
func TestMeanOverRounds(t *testing.T) {
	kernels := func(n int) []hlo.Kernel { return make([]hlo.Kernel, n) }
	loops := []hlo.Loop{
		{Name: "main", Trips: 1, Kernels: kernels(10)},
		{Name: "steps", Depth: 1, Trips: 250, Kernels: kernels(8)},
		{Name: "due", Depth: 1, Kernels: kernels(20)},
		{Name: "sweeps", Depth: 2, Kernels: kernels(5)},
		{Name: "turns", Depth: 3, Trips: 55, Kernels: kernels(3)}, // not 500 steps by 9
		{Name: "other", Depth: 1, Trips: 3, Kernels: kernels(1)},
	}
	for _, c := range []struct {
		without int64
		period  int
		mean    float64
	}{{500, 10, 10 + 3 + 19}, {0, 10, 10 + 2000 + 3 + 19}, {0, 38, 10 + 2000 + 3 + 5}, {0, 1, 0}} {
		var r Result
		r.count(loops, 0, c.without)
		r.average(loops, c.without, c.period)
		require.InDelta(t, c.mean, r.Mean, 1e-9, "%+v", c)
	}
}
