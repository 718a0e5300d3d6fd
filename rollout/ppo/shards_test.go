package ppo

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/xlabridge"
)

// sharded are configs whose agent's work is cut: its environments, the rows of its minibatches, or both.
var sharded = map[string]struct {
	change     func(c *Config)
	envs, rows int // parts
}{
	"both": {func(c *Config) {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.Policy = "Breakout-MinAtar-v1", 64, 16, 2, "mlp:16"
	}, 2, 2},
	"rows": {func(c *Config) { c.Envs, c.Horizon, c.Minibatches = 12, 256, 3 }, 1, 4},
	"envs": {func(c *Config) { c.Envs, c.Horizon, c.Minibatches = 96, 4, 4 }, 2, 1},
	"dear": {func(c *Config) {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.Shared, c.Policy = "Gather-v1", 64, 16, 1, true, "cnn:4"
	}, 2, 4},
	"sequences": {func(c *Config) { c.Policy, c.Envs, c.Horizon, c.Minibatches = "gru:8", 64, 32, 2 }, 2, 4},
	"blocks":    {func(c *Config) { c.Envs, c.Horizon, c.Minibatches, c.Shuffle = 128, 16, 2, "blocks" }, 4, 4},
	"normalized": {func(c *Config) {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.Accumulate, c.Value = "Pendulum-v1", 64, 32, 2, 2, "popart"
		c.NormalizeObservations, c.NormalizeRewards = true, true
	}, 2, 2},
	"half":        {func(c *Config) { c.Envs, c.Horizon, c.Minibatches, c.Precision, c.Value = 64, 16, 2, "f16", "twohot" }, 2, 2},
	"halves":      {func(c *Config) { c.Policy, c.Envs, c.Horizon, c.Minibatches = "mlp:64,64", 4, 128, 4 }, 1, 2},
	"half halves": {func(c *Config) { c.Envs, c.Horizon, c.Minibatches, c.Precision = 8, 32, 2, "bf16" }, 1, 2},
	"stops": {func(c *Config) {
		c.Envs, c.Horizon, c.Minibatches, c.TargetKL.Value = 64, 16, 2, 1e-4
	}, 2, 2},
}

// seldom are those of sharded whose parts come together as they do in others: XLARUN_LONG=1 runs them on several devices, too.
var seldom = []string{"envs", "blocks", "half halves", "sequences", "stops"}

// One agent's work is cut over the devices, and comes to the same bytes on any number of them.
func TestShardsOverDevices(t *testing.T) {
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: 3, CacheDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	for name, c := range sharded {
		if os.Getenv("XLARUN_LONG") == "" && slices.Contains(seldom, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			of := func(devices int) map[string][]byte {
				config := small(func(s *Config) { c.change(s); s.Steps = 4 * s.perUpdate(); s.Devices = devices })
				r := start(t, b, config)
				require.Equal(t, c.envs, r.program.shards.Envs.Items/r.program.shards.Envs.Lanes)
				require.Equal(t, c.rows, r.program.shards.Rows.Items)
				require.Equal(t, min(devices, max(c.envs, c.rows)), r.Profile().Devices)
				steps(t, r, 2)
				s, err := r.Snapshot()
				require.NoError(t, err)
				all := map[string][]byte{}
				for name, a := range s.Arrays {
					all[name] = hostBytes(t, a)
				}
				return all
			}
			one := of(1)
			devices := []int{2}
			if name == "rows" || name == "envs" { // three do not divide the parts
				devices = []int{2, 3}
			}
			for _, devices := range devices {
				other := of(devices)
				require.Len(t, other, len(one))
				for name, want := range one {
					require.True(t, bytes.Equal(want, other[name]), "%s on %d devices", name, devices)
				}
			}
		})
	}
}

// What is computed in parts is, up to rounding, what is computed as a whole, from the same draws.
func TestShardsAreTheWhole(t *testing.T) {
	b := open(t)
	for name, c := range sharded {
		if slices.Contains([]string{"half", "half halves", "stops", "blocks", "rows"}, name) { // the first two round differently, the others are as one of those left
			continue
		}
		t.Run(name, func(t *testing.T) {
			config := small(func(s *Config) { c.change(s); s.Steps = s.perUpdate() })
			run := func(cut bool) []float64 {
				g, err := config.program()
				require.NoError(t, err)
				if cut {
					g.shards, err = config.shards(b, g.rows)
					require.NoError(t, err)
				}
				s, err := graph.Eval(g.starts(random.New(3), 1))
				require.NoError(t, err)
				type both struct {
					State   State
					Figures *graph.Array
				}
				after, err := xlabridge.Jit2(b, func(s State, in inputs) both {
					next, f := g.update(s, in)
					return both{next, f}
				})(s, g.inputs(population.CutTiles(1, 1, 1)))
				require.NoError(t, err)
				return floatsOf(t, []any{after.State.Params, after.State.Worlds.Observation, after.State.Worlds.Return, after.Figures})
			}
			want, got := run(false), run(true)
			require.Len(t, got, len(want))
			for i := range want {
				if want[i] != want[i] && got[i] != got[i] {
					continue
				}
				require.InDelta(t, want[i], got[i], 2e-3*max(1, abs(want[i])), i)
			}
		})
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestParts(t *testing.T) {
	for _, c := range []struct{ n, least, want int }{{1, 1, 1}, {2, 1, 2}, {8, 1, 8}, {64, 1, 8}, {6, 1, 2}, {7, 1, 1}, {64, 32, 2}, {63, 32, 1}, {2048, 256, 8}, {12, 3, 4}, {12, 4, 2}} {
		require.Equal(t, c.want, parts(c.n, c.least), c)
	}
}
