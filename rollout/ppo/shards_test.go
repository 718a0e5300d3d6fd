package ppo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type shardedConfig struct {
	change     func(c *Config)
	envs, rows int // tiles
	long       bool
}

// on returns the settings for a number of devices.
func (c shardedConfig) on(devices int) func(c *Config) {
	return func(s *Config) {
		c.change(s)
		s.Steps, s.Devices = 4*s.perUpdate(), devices
	}
}

// sharded are configs whose agent's work is cut: its environments, the rows of its minibatches, or both. Those with
// long take the same ways as the others.
var sharded = map[string]shardedConfig{
	"both": {func(c *Config) {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.Policy = "Breakout-MinAtar-v1", 64, 16, 2, "mlp:16"
	}, 2, 2, true},
	"rows": {func(c *Config) { c.Envs, c.Horizon, c.Minibatches = 12, 256, 3 }, 1, 4, true},
	"envs": {func(c *Config) { c.Envs, c.Horizon, c.Minibatches = 96, 4, 4 }, 2, 1, true},
	"costly": {func(c *Config) {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.Shared, c.Policy = "Gather-v1", 64, 16, 1, true, "cnn:4"
	}, 2, 4, true},
	"sequences": {func(c *Config) { c.Policy, c.Envs, c.Horizon, c.Minibatches = "gru:8", 64, 32, 2 }, 2, 4, true},
	"all at once": {func(c *Config) { // what a state can have
		c.Policy, c.Envs, c.Horizon, c.Minibatches, c.Init = "elman:4", 64, 32, 2, "policy"
		c.NormalizeObservations, c.NormalizeRewards, c.Value = true, true, "popart"
		c.TargetKL, c.EnvParam = settings.Num(1e-5), settings.Pairs{"gravity": "9..11"}
	}, 2, 4, false},
	"blocks": {func(c *Config) { c.Envs, c.Horizon, c.Minibatches, c.Shuffle = 128, 16, 2, "blocks" }, 4, 4, true},
	"normalized": {func(c *Config) {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.Accumulate, c.Value = "Pendulum-v1", 64, 32, 2, 2, "popart"
		c.NormalizeObservations, c.NormalizeRewards = true, true
	}, 2, 2, true},
	"half": {func(c *Config) {
		c.Envs, c.Horizon, c.Minibatches, c.Precision, c.Value = 64, 16, 2, "f16", "twohot"
	}, 2, 2, true},
	"halves": {func(c *Config) { c.Policy, c.Envs, c.Horizon, c.Minibatches = "mlp:64,64", 4, 128, 4 }, 1, 2, true},
	"half halves": {func(c *Config) {
		c.Envs, c.Horizon, c.Minibatches, c.Precision = 8, 32, 2, "bf16"
	}, 1, 2, true},
	"stops": {func(c *Config) {
		c.Envs, c.Horizon, c.Minibatches, c.TargetKL.Value = 64, 16, 2, 1e-4
	}, 2, 2, true},
}

// One agent's work is cut over the devices, with the same bytes on any number of them. The short form compiles it for
// devices that do not divide the tiles, and an update is the interpreter's. TestGolden of cmd/xlarun keeps the bytes on
// two devices.
func TestShardsOverDevices(t *testing.T) {
	b := xlatest.Open(t, 3)
	for name, c := range sharded {
		t.Run(name, func(t *testing.T) {
			if c.long {
				long.Only(t)
			}
			of := func(b xlabridge.Backend, devices, updates int) *Training {
				r := start(t, b, small(c.on(devices)))
				require.Equal(t, c.envs, r.program.shards.Envs.Items/r.program.shards.Envs.Lanes)
				require.Equal(t, c.rows, r.program.shards.Rows.Items)
				require.Equal(t, min(devices, max(c.envs, c.rows)), r.Profile().Devices)
				steps(t, r, updates)
				return r
			}
			if !long.On() {
				requireNear(t, of(&xlabridge.Reference{}, 1, 1), of(b, 3, 1))
				return
			}
			one := snapshotBytes(t, of(b, 1, 2))
			for _, n := range []int{2, 3} {
				requireSameBytes(t, one, snapshotBytes(t, of(b, n, 2)), fmt.Sprint(n, " devices"))
			}
		})
	}
	t.Run("pqn", func(t *testing.T) {
		long.Only(t)
		on := func(devices int) map[string]string {
			r := startPQN(t, b, smallPQN(func(q *PQN) {
				q.Envs, q.Minibatches, q.Devices, q.Steps = 64, 2, devices, 4096
			}))
			require.Equal(t, devices, r.Profile().Devices)
			steps(t, r, 2)
			return snapshotBytes(t, r)
		}
		requireSameBytes(t, on(1), on(2), "two devices")
	})
}

// What is computed in tiles is, up to rounding, what is computed as a whole, from the same draws.
func TestShardsAreTheWhole(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"transitions": func(c *Config) { c.Shared, c.EnvParam = true, settings.Pairs{"gravity": "9..11"} },
		"sequences":   func(c *Config) { c.Policy = "gru:3" },
		"shared":      func(c *Config) { c.Policy, c.Shared, c.Value = "gru:3", true, "twohot" },
		"blocks":      func(c *Config) { c.Shuffle = "blocks" },
		"normalized": func(c *Config) {
			c.Env, c.Accumulate, c.Value = "Pendulum-v1", 2, "popart"
			c.NormalizeObservations, c.NormalizeRewards = true, true
		},
		"scaled": func(c *Config) { c.Precision = "f16" },
	} {
		if name == "sequences" && !long.On() { // those of "shared", where actor and critic are one network
			continue
		}
		g := smallProgram(t, func(c *Config) { c.Envs, c.Horizon, c.Epochs, c.Minibatches = 4, 4, 1, 2; change(c) })
		compared := func() []float64 {
			states, metrics := evalUpdates(t, g, 1)
			numbers := []float64{metrics[0]["value_loss"], metrics[0]["policy_loss"], metrics[0]["minibatches"]}
			return append(numbers, floatsOf(t, []any{states[0].Params, states[0].EnvStates})...)
		}
		want := compared()
		g.shards = cutInTwo(4)
		got := compared()
		require.Len(t, got, len(want), name)
		for i := range want {
			require.InDelta(t, want[i], got[i], 2e-3*max(1, abs(want[i])), "%s, number %d", name, i)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestParts(t *testing.T) {
	for _, c := range []struct{ n, least, want int }{{1, 1, 1}, {2, 1, 2}, {8, 1, 8}, {64, 1, 8}, {6, 1, 2}, {7, 1, 1},
		{64, 32, 2}, {63, 32, 1}, {2048, 256, 8}, {12, 3, 4}, {12, 4, 2}} {
		require.Equal(t, c.want, shardsOf(c.n, c.least), c)
	}
}
