package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// requirePhases checks the phases of a run of ppo or pqn: they have names, times and work, and leave no trace. Metrics
// and statistics, which are in no phase, are less than `rest` of the whole program's operations.
func requirePhases(t *testing.T, r *Training, rest float64) []run.Phase {
	t.Helper()
	steps(t, r, 1)
	before := snapshotBytes(t, r)
	phases, err := r.Phases(t.Context(), 2)
	require.NoError(t, err)
	require.Len(t, phases, 4)
	sum, whole := 0., r.Cost()
	for i, name := range []string{"collect", "advantage", "epochs", "optimizer"} {
		p := phases[i]
		require.Equal(t, name, p.Name)
		require.Positive(t, p.Runs[0], name)
		require.GreaterOrEqual(t, p.Seconds, p.Runs[0], name)
		require.EqualValues(t, 1, p.PerUnit(), name)
		require.Positive(t, p.Cost.Bytes, name)
		require.Positive(t, p.Cost.FLOPs, name)
		sum += p.Cost.FLOPs
	}
	require.InEpsilon(t, whole.FLOPs, sum, rest)
	requireSameBytes(t, before, snapshotBytes(t, r), "after the phases")
	return phases
}

// TestPhases: the phases of an update add up to it, for one agent and for several, cut into tiles or not,
// for every kind of minibatch and of optimizer state.
func TestPhases(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"one agent": nil,
		"agents":    func(c *Config) { c.Agents, c.Tile = 5, 2 },
		"sequences": func(c *Config) { c.Policy = "gru:4" },
		"blocks":    func(c *Config) { c.Shuffle, c.Shared = "blocks", true },
		"stops":     func(c *Config) { c.TargetKL.Value = .1 },
		"parts":     func(c *Config) { c.Accumulate, c.Precision = 2, "bf16" },
		"normalized": func(c *Config) {
			c.Env, c.Value, c.NormalizeObservations, c.NormalizeRewards = "Pendulum-v1", "popart", true, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			requirePhases(t, start(t, &xlabridge.Reference{}, small(change)), .03)
		})
	}
	t.Run("pqn", func(t *testing.T) {
		requirePhases(t, startPQN(t, &xlabridge.Reference{}, smallPQN(nil)), .05)
	})
	if !long.On() {
		return // two devices compile a program of each phase
	}
	for name, change := range map[string]func(c *Config){
		"tiles of rows":   func(c *Config) { c.Horizon, c.Precision = 128, "f16" },
		"agents in tiles": agents(2),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, xlatest.Open(t, 2), small(change))
			require.Equal(t, 2, r.Profile().Devices)
			requirePhases(t, r, .03)
		})
	}
}

// The work of an update grows with what it does, padding included: twice the epochs are twice the gradients.
func TestCost(t *testing.T) {
	phases := func(change func(c *Config)) map[string]run.Phase {
		found := map[string]run.Phase{}
		for _, p := range requirePhases(t, start(t, &xlabridge.Reference{}, small(change)), .03) {
			found[p.Name] = p
		}
		return found
	}
	one := phases(func(c *Config) { c.Epochs = 1 })
	two := phases(func(c *Config) { c.Epochs = 2 })
	padded := phases(func(c *Config) { c.Epochs, c.Agents, c.Tile = 1, 3, 2 }) // in two tiles of two
	for _, name := range []string{"epochs", "optimizer"} {
		require.InEpsilon(t, 2*one[name].Cost.FLOPs, two[name].Cost.FLOPs, .01, name)
		require.InEpsilon(t, 4*one[name].Cost.FLOPs, padded[name].Cost.FLOPs, .01, name)
	}
	require.InEpsilon(t, one["collect"].Cost.FLOPs, two["collect"].Cost.FLOPs, 1e-9)
}

// A run that was closed has no phases.
func TestPhasesOfAClosedRun(t *testing.T) {
	r, err := New(&xlabridge.Reference{}, small(nil))
	require.NoError(t, err)
	require.NoError(t, r.Close())
	_, err = r.Phases(t.Context(), 1)
	require.ErrorIs(t, err, run.ErrGone)
}
