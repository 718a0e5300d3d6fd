package evolve

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Members that Remake makes, played with their keys, have the results of the next generation: for every strategy, in
// padded tiles, with several episodes, and with keys of devices.
func TestSampledMembersAreThoseOfTheNextGeneration(t *testing.T) {
	check := func(b xlabridge.Backend, name string, change func(c *Config)) {
		t.Helper()
		c := DefaultConfig()
		c.Policy, c.Strategy, c.Population, c.Steps, c.Target, c.Tile, c.HallOfFame = "linear", name, 6, 12, "0", 4,
			"0"
		if name == "neat" {
			c.Policy = "genome"
		}
		change(&c)
		e := start(t, b, c)
		steps(t, e, 2)
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		numbers := make([]int, c.Population)
		for i := range numbers {
			numbers[i] = i
		}
		config := e.Config()
		members, err := config.Remake(b, s, numbers)
		require.NoError(t, err)
		require.Len(t, members, c.Population)
		best, mean, worst := math.Inf(-1), 0., math.Inf(1)
		member := xlabridge.Jit(b, func(m run.Sampled) *graph.Array {
			return e.Rollout().Member(m.Params, m.Key).Return
		})
		for i, m := range members {
			require.Equal(t, i, m.Number)
			m.Name, m.Number = "", 0
			a, err := member(m)
			require.NoError(t, err)
			f, err := graph.Float(a)
			require.NoError(t, err)
			best, worst, mean = max(best, f), min(worst, f), mean+f/float64(c.Population)
		}
		m, err := e.Step(t.Context())
		require.NoError(t, err)
		for metric, got := range map[string]float64{"best_fitness": best, "mean_fitness": mean,
			"worst_fitness": worst} {
			want, _ := m.Get(metric)
			require.InDelta(t, want, got, 1e-3*(1+math.Abs(want)), "%s: %s", name, metric)
		}
		require.NoError(t, e.Close())
	}
	reference := &xlabridge.Reference{}
	for _, name := range strategy.Names() {
		check(reference, name, func(*Config) {})
	}
	check(reference, "openes", func(c *Config) { c.Episodes, c.Env = 3, "Pendulum-v1" })
	check(reference, "openes", func(c *Config) { c.Population, c.Tile = 10, 4 })
	check(reference, "eggroll", func(c *Config) { *c = broad(); c.Population, c.Steps, c.Tile = 10, 6, 4 })
	if long.On() {
		check(xlatest.Open(t, 1), "eggroll", func(c *Config) { *c = broad() }) // the program of TestDeterminismMatrix
		two := xlatest.Open(t, 2)
		check(two, "pgpe", func(c *Config) { c.Devices, c.Population = 2, 20 })
		check(two, "pso", func(c *Config) { c.Devices, c.Population = 2, 20 })
	}

	c := DefaultConfig()
	c.Policy, c.Population = "linear", 4
	_, err := c.Remake(reference, run.Snapshot{}, []int{0})
	require.ErrorContains(t, err, "the state has no array")
}
