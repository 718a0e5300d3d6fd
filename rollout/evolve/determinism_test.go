package evolve

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// sameBytes compares two states.
func sameBytes(t *testing.T, want, got map[string][]byte, what string) {
	t.Helper()
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name := range want {
		require.True(t, bytes.Equal(want[name], got[name]), "%s: %s", what, name)
	}
}

// The matrix: strategies by numbers of devices, metrics and state equal to the byte: 50 generations of the default
// experiment, with tiles enough for 8 devices, and a few of one whose tiles and layers are padded. XLARUN_LONG=1 runs the
// former with every layout of the lanes. In the short form the other strategies run the padded experiment alone, with fewer parameters:
// the matrices of some are of their square.
func TestDeterminismMatrix(t *testing.T) {
	whole, padded := DefaultConfig(), DefaultConfig()
	whole.Tile, whole.Seed = 32, 7
	padded.Population, padded.Steps, padded.Policy, padded.Tile, padded.Seed = 78, 61, "mlp:12", 16, 7
	padded.LanesLast, padded.Unroll = true, 2
	type experiment struct {
		name        string
		config      Config
		generations int
	}
	experiments := []experiment{{"default", whole, 50}, {"padded", padded, 3}}
	if os.Getenv("XLARUN_LONG") != "" {
		for _, l := range []Config{{LanesLast: true}, {LanesLast: true, Unroll: 4}, {Unroll: 2}} {
			c := whole
			c.LanesLast, c.Unroll = l.LanesLast, l.Unroll
			experiments = append(experiments, experiment{fmt.Sprintf("lanes last %v, unroll %d", l.LanesLast, l.Unroll), c, 50})
		}
	}
	devices := []int{1, 2, 4, 8}
	clients := map[int]*xlabridge.Client{}
	for _, d := range devices {
		clients[d] = open(t, d)
	}
	small := padded
	small.Policy, small.Population, small.Steps = "linear", 70, 30
	for _, name := range strategy.Names() {
		all := experiments
		if os.Getenv("XLARUN_LONG") == "" && name != "openes" {
			all = []experiment{{"small", small, 6}}
		}
		for _, x := range all {
			t.Run(name+", "+x.name, func(t *testing.T) {
				x.config.Strategy = name
				var metrics []run.Metrics
				var state map[string][]byte
				on := devices
				if x.name == "small" {
					on = []int{1, 8}
				}
				for _, d := range on {
					e, err := New(clients[d], x.config)
					require.NoError(t, err)
					m, s := steps(t, e, x.generations), bytesOf(t, e)
					require.NoError(t, e.Close())
					if state == nil {
						metrics, state = m, s
						continue
					}
					require.Equal(t, metrics, m, "%d devices", d)
					sameBytes(t, state, s, fmt.Sprint(d, " devices"))
				}
			})
		}
	}
}

// fitnessOf runs one generation and returns the fitness of each member.
func fitnessOf(t *testing.T, e *Evolution) []float64 {
	t.Helper()
	out, err := e.Advance()
	require.NoError(t, err)
	v, err := graph.Floats(out[0])
	require.NoError(t, err)
	xlabridge.Free(out)
	return v[:len(v)/3]
}

// The members of a padded population do what they do in a larger one that fills its tiles, to the byte: odd sizes all round.
func TestPaddedMembersAreTheSame(t *testing.T) {
	c := DefaultConfig()
	c.Strategy, c.Policy, c.Steps, c.Seed = "simplega", "mlp:48", 333, 3
	b := open(t, 2)
	for _, c.LanesLast = range []bool{false, true} {
		c.Tile, c.Population = 48, 777 // 16 tiles and a part of one, on two devices
		padded := start(t, b, c)
		require.Equal(t, 18, padded.Profile().Fact("tiles"))
		c.Population = 18 * 48
		full := start(t, b, c)
		got, want := fitnessOf(t, padded), fitnessOf(t, full)
		require.Len(t, got, 777)
		require.Equal(t, want[:777], got)
		require.Greater(t, slices.Max(got), slices.Min(got))
	}
}

// Noise that is drawn again is the noise that was kept: all results are the same to the byte.
func TestRedrawnNoiseChangesNothing(t *testing.T) {
	b := open(t, 2)
	for _, x := range []struct {
		strategy string
		devices  int
		last     bool
	}{{"openes", 1, false}, {"openes", 2, true}, {"pgpe", 2, false}, {"simplega", 2, false}, {"cmaes", 2, false}, {"samrga", 2, true}} {
		t.Run(x.strategy, func(t *testing.T) {
			c := DefaultConfig()
			c.Population, c.Steps, c.Policy, c.Tile = 150, 83, "mlp:16", 16
			c.Strategy, c.Devices, c.LanesLast = x.strategy, x.devices, x.last
			kept, drawn := start(t, b, c), redrawing(t, b, c)
			require.Equal(t, steps(t, kept, 5), steps(t, drawn, 5))
			sameBytes(t, bytesOf(t, kept), bytesOf(t, drawn), "redrawn")
		})
	}
}

// redrawing starts a run that keeps no noise.
func redrawing(t *testing.T, b xlabridge.Backend, c Config) *Evolution {
	t.Helper()
	x, err := c.experiment(plan.Machine{Devices: b.NumDevices(), CPU: b.Backend() == "cpu"})
	require.NoError(t, err)
	x.redraw = true
	e, err := build(b, x, plan.Choice{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	require.Equal(t, true, e.Profile().Fact("noise_redrawn"))
	return e
}

// Keys of a device's own: one device gives the same each time, two give something else, and no two members share a key.
func TestKeysOfDevices(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.Tile, c.Keys = 32, 40, "linear", 8, KeysDevice
	b := open(t, 2)
	after := func(devices int) map[string][]byte {
		c.Devices = devices
		e := start(t, b, c)
		steps(t, e, 2)
		return bytesOf(t, e)
	}
	sameBytes(t, after(2), after(2), "again")
	require.NotEqual(t, after(1)["strategy.mean"], after(2)["strategy.mean"])
	c.Strategy = "simplega"
	e := start(t, b, c)
	steps(t, e, 1)
	s, err := e.Snapshot()
	require.NoError(t, err)
	rows, err := graph.Floats(s.Arrays["strategy.elites"])
	require.NoError(t, err)
	n := e.Profile().Fact("parameters").(int)
	seen := map[float64]bool{}
	for i := 0; i < len(rows); i += n {
		require.False(t, seen[rows[i]], "two elites are the same")
		seen[rows[i]] = true
	}
}
