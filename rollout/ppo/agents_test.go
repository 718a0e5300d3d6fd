package ppo

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// agents returns the settings of agents in several tiles, of which the last is not full.
func agents(devices int) func(c *Config) {
	return func(c *Config) {
		c.Agents, c.Tile, c.Devices, c.Policy, c.Init = 5, 2, devices, "linear", "policy"
	}
}

// crowd is five agents that learn to balance the pole, in tiles as in agents.
func crowd(devices int) Config {
	c := DefaultConfig()
	agents(devices)(&c)
	c.LearningRate, c.EvalEnvs, c.EvalEvery = settings.Num(.01), 3, 2
	return c
}

// Agents in several tiles, of which the last is not full, have the same bytes on one device and on two, and an update
// is the interpreter's. The short form compares one on two devices, of the program of TestLearnsCartPole, with the
// interpreter's.
func TestAgentsOverDevices(t *testing.T) {
	b := xlatest.Open(t, 2)
	of := func(b xlabridge.Backend, devices, updates int) *Training {
		c := crowd(devices)
		if long.On() {
			c = small(agents(devices))
		}
		r := start(t, b, c)
		require.Equal(t, devices, r.Profile().Devices)
		steps(t, r, updates)
		s, err := r.Snapshot(t.Context())
		require.NoError(t, err)
		for name, a := range s.Arrays {
			require.Equal(t, 5, a.Dim(0), name)
		}
		return r
	}
	if long.On() {
		requireSameBytes(t, snapshotBytes(t, of(b, 1, 3)), snapshotBytes(t, of(b, 2, 3)), "two devices")
	}
	requireNear(t, of(&xlabridge.Reference{}, 1, 1), of(b, 2, 1))
	_, err := New(b, small(func(c *Config) { c.Agents, c.Devices = 5, 3 }))
	require.ErrorContains(t, err, "devices: got 3, want at most the 2 that the backend was opened with")
}

// requireNear holds that two runs have the same state, up to rounding.
func requireNear(t *testing.T, interpreted, compiled *Training) {
	t.Helper()
	want, err := interpreted.Snapshot(t.Context())
	require.NoError(t, err)
	got, err := compiled.Snapshot(t.Context())
	require.NoError(t, err)
	require.Len(t, got.Arrays, len(want.Arrays))
	for name, a := range want.Arrays {
		if a.DType().IsFloat() {
			require.InDeltaSlice(t, floatsOf(t, a), floatsOf(t, got.Arrays[name]), 1e-3, name)
		} else {
			require.Equal(t, hostBytes(t, a), hostBytes(t, got.Arrays[name]), name)
		}
	}
}

// Numbers may be several: each agent learns by its own, from the same compiled program as with one.
func TestAgentsHaveNumbersOfTheirOwn(t *testing.T) {
	b := &xlabridge.Reference{}
	several := func(c *Config) {
		agents(1)(c)
		c.Seed = 5
		c.LearningRate = settings.Number{Value: 1e-4, Each: "0.0001..0.01"}
		c.Entropy = settings.Number{Value: 0, Each: "0,0.5"}
	}
	r := start(t, b, small(several))
	m := steps(t, r, 3)[2]
	rates := r.config.perAgent()["learning-rate"]
	total := 0.
	for i, rate := range slices.Sorted(slices.Values(rates)) {
		require.InEpsilon(t, 1e-4*math.Pow(10, (2*float64(i)+1)/5), rate, 1e-3,
			"the middles of five parts of two decades")
		total += rate
	}
	require.Equal(t, []float64{0, .5, 0, .5, 0}, r.config.perAgent()["entropy-coef"])
	require.InEpsilon(t, total/5*(1-2./20), of(t, m, "learning_rate"), 1e-5, "in the third update of 20")
	files, err := r.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	shown := files[len(files)-1].JSON.(map[string]any)
	require.Equal(t, rates, shown["learning_rate"])
	require.NotContains(t, shown, "gamma")

	text := func(r *Training) string {
		l, err := lower.Lower(r.Compiled().Program, graph.TargetCPU)
		require.NoError(t, err)
		return l.StableHLO
	}
	same := start(t, b, small(func(c *Config) {
		several(c)
		c.LearningRate, c.Entropy = settings.Num(1e-3), settings.Num(.01)
	}))
	require.Equal(t, text(same), text(r))

	// Agent 2 is the same if all agents have its numbers.
	alone := start(t, b, small(func(c *Config) {
		several(c)
		c.LearningRate, c.Entropy = settings.Num(rates[2]), settings.Num(0)
	}))
	steps(t, alone, 3)
	row := func(r *Training) []byte {
		s, err := r.State()
		require.NoError(t, err)
		a, err := xlabridge.ToHost(graph.Leaves(s.(State).Params.Actor)[0])
		require.NoError(t, err)
		all := hostBytes(t, a)
		return all[len(all)/5*2 : len(all)/5*3]
	}
	require.True(t, bytes.Equal(row(alone), row(r)))
	for i, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) {
			several(c)
			c.Agents = 1
		}, "learning-rate: got \"0.0001..0.01\", want one number for one agent"},
		{func(c *Config) {
			c.Agents, c.LearningRate = 2, settings.Number{Value: 0, Each: "0,1"}
		}, "learning-rate: got 0,1, want a number above 0"},
	} {
		config := small(c.change)
		require.ErrorContains(t, config.Check(plan.Machine{}), c.want, i)
	}
}
