package ppo

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Agents of several tiles, the last one not full, come to the same bytes on one device and on two, and each to what it comes to by itself with the same key.
func TestAgentsOverDevices(t *testing.T) {
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: 2, CacheDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	of := func(devices int) map[string][]byte {
		r := start(t, b, small(func(c *Config) { c.Agents, c.Tile, c.Devices = 5, 2, devices }))
		require.Equal(t, max(1, devices), r.Profile().Devices)
		steps(t, r, 3)
		s, err := r.Snapshot()
		require.NoError(t, err)
		all := map[string][]byte{}
		for name, a := range s.Arrays {
			all[name] = hostBytes(t, a)
			require.Equal(t, 5, a.Dim(0), name)
		}
		return all
	}
	one, two := of(1), of(2)
	require.Len(t, two, len(one))
	for name, want := range one {
		require.True(t, bytes.Equal(want, two[name]), name)
	}
	_, err = New(b, small(func(c *Config) { c.Agents, c.Devices = 5, 3 }))
	require.ErrorContains(t, err, "devices: got 3, want at most the 2 that the backend was opened with")
}

// Numbers may be several: each agent learns by its own, from the same compiled program as with one.
func TestAgentsHaveNumbersOfTheirOwn(t *testing.T) {
	b := open(t)
	several := func(c *Config) {
		c.Agents, c.Seed = 4, 5
		c.LearningRate, c.Entropy = settings.Number{Value: 1e-4, Each: "0.0001..0.01"}, settings.Number{Value: 0, Each: "0,0.5"}
		c.Anneal = false
	}
	r := start(t, b, small(several))
	m := steps(t, r, 3)[2]
	rates := r.config.each()["learning-rate"]
	for i, want := range []float64{1.7783e-4, 5.6234e-4, 1.7783e-3, 5.6234e-3} { // the middles of four parts of two decades
		require.InEpsilon(t, want, slices.Sorted(slices.Values(rates))[i], 1e-3)
	}
	require.Equal(t, []float64{0, .5, 0, .5}, r.config.each()["entropy"])
	require.InEpsilon(t, (rates[0]+rates[1]+rates[2]+rates[3])/4, of(t, m, "learning_rate"), 1e-5)
	files, err := r.Files(true)
	require.NoError(t, err)
	shown := files[0].JSON.(map[string]any)
	require.Equal(t, rates, shown["learning_rate"])
	require.NotContains(t, shown, "gamma")

	text := func(r *Training) string {
		l, err := r.Compiled().Program.Lower(graph.TargetCPU)
		require.NoError(t, err)
		return l.StableHLO
	}
	same := start(t, b, small(func(c *Config) { several(c); c.LearningRate, c.Entropy = settings.Num(1e-3), settings.Num(.01) }))
	require.Equal(t, text(same), text(r))

	// Agent 2 is what it is where all have its numbers.
	alone := start(t, b, small(func(c *Config) { several(c); c.LearningRate, c.Entropy = settings.Num(rates[2]), settings.Num(0) }))
	steps(t, alone, 3)
	row := func(r *Training) []byte {
		s, err := r.State()
		require.NoError(t, err)
		a, err := xlabridge.ToHost(graph.Leaves(s.(State).Params.Actor)[0])
		require.NoError(t, err)
		all := hostBytes(t, a)
		return all[len(all)/4*2 : len(all)/4*3]
	}
	require.True(t, bytes.Equal(row(alone), row(r)))
	for i, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { several(c); c.Agents = 1 }, "learning-rate: got \"0.0001..0.01\", want one number for one agent"},
		{func(c *Config) { c.Agents, c.LearningRate = 2, settings.Number{Value: 0, Each: "0,1"} }, "learning-rate: got 0,1, want a number above 0"},
	} {
		config := small(c.change)
		require.ErrorContains(t, config.Check(plan.Machine{}), c.want, i)
	}
}
