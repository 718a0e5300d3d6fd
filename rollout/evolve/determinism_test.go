package evolve

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// sameBytes compares two states.
func sameBytes(t *testing.T, want, got map[string][]byte, what string) {
	t.Helper()
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name := range want {
		require.True(t, bytes.Equal(want[name], got[name]), "%s: %s", what, name)
	}
}

// determinism is one row of the matrix: half of the generations, a snapshot, and the other half.
type determinism struct {
	name        string
	change      func(c *Config)
	devices     []int // the run is whole on the first; it goes on from the snapshot on the last
	generations int
}

// The matrix: strategies by numbers of devices. Metrics and state are equal to the byte on all of them, also after a
// resume on another number of devices. In the short form openes runs the default experiment, with tiles for 8 devices,
// and one with padded tiles, too few for 8 devices; cmaes runs a smaller one, whose population is one tile; neat runs
// one on 4 devices. The long form has all strategies and layouts.
func TestDeterminismMatrix(t *testing.T) {
	devices, few := []int{1, 8}, []int{1, 4}
	if long.On() {
		devices, few = []int{1, 2, 4, 8}, []int{1, 2, 4}
	}
	rows := []determinism{
		{"default", func(c *Config) { c.Tile = 32 }, devices, 50},
		{"padded", func(c *Config) {
			c.Population, c.Steps, c.Policy, c.Tile, c.LanesLast, c.Unroll = 78, 61, "mlp:12", 16, true, 2
		}, []int{1, 8}, 4},
	}
	small := func(tile int) determinism {
		return determinism{"small", func(c *Config) {
			c.Population, c.Steps, c.Policy, c.Tile = 38, 20, "linear", tile
		}, []int{1, 8}, 4}
	}
	if long.On() {
		layout := func(lanesLast bool, unroll int) determinism {
			return determinism{fmt.Sprintf("lanes last %v, unroll %d", lanesLast, unroll), func(c *Config) {
				c.Tile, c.LanesLast, c.Unroll = 32, lanesLast, unroll
			}, []int{1, 2, 4, 8}, 50}
		}
		rows = append(rows, layout(true, 0), layout(true, 4), layout(false, 2), determinism{"many parameters",
			func(c *Config) { c.Population, c.Steps, c.Policy, c.Tile = 96, 100, "mlp:64,64", 16 }, []int{1, 2, 8}, 10})
	}
	clients := map[int]*xlabridge.Client{}
	for _, devices := range []int{1, 2, 4, 8} {
		clients[devices] = xlatest.Open(t, devices)
	}
	short := map[string][]string{ // rows; TestNormalizedRuns… has simplega, TestSharedRuns… eggroll
		"cmaes": {"small"}, "neat": {"long sums"}, "openes": {"default", "padded"}}
	for i, name := range strategy.Names() {
		own := slices.Clone(rows)
		if name != "openes" {
			own = append(own, small([]int{8, 48}[i%2]))
		}
		if name == "neat" { // 28.303: its sums of floats are no trees, on however many devices
			own = append(own, determinism{"long sums", func(c *Config) { c.Population, c.Steps = 150, 20 },
				few, 4})
		}
		for _, row := range own {
			if !long.On() && !slices.Contains(short[name], row.name) {
				continue
			}
			t.Run(name+", "+row.name, func(t *testing.T) {
				c := DefaultConfig()
				c.Strategy, c.Seed = name, 7
				if row.change(&c); name == "neat" {
					c.Policy = "genome"
				}
				row.check(t, clients, c)
			})
		}
	}
}

func (d determinism) check(t *testing.T, clients map[int]*xlabridge.Client, c Config) {
	t.Helper()
	half := d.generations / 2
	whole := start(t, clients[d.devices[0]], c)
	metrics := steps(t, whole, half)
	middle, err := whole.Snapshot()
	require.NoError(t, err)
	metrics = append(metrics, steps(t, whole, d.generations-half)...)
	state := bytesOf(t, whole)
	for i, devices := range d.devices[1:] {
		e := start(t, clients[devices], c)
		require.Equal(t, devices, e.Profile().Devices)
		require.Equal(t, metrics, steps(t, e, d.generations), "%d devices", devices)
		sameBytes(t, state, bytesOf(t, e), fmt.Sprint(devices, " devices"))
		if i+2 < len(d.devices) {
			continue
		}
		require.NoError(t, e.Restore(middle))
		require.Equal(t, metrics[half:], steps(t, e, d.generations-half), "restored on %d devices", devices)
		sameBytes(t, state, bytesOf(t, e), fmt.Sprint("restored on ", devices, " devices"))
	}
	delete(middle.Arrays, "key.data")
	require.ErrorContains(t, whole.Restore(middle), `no array "key.data" of u32[2]`)
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

// To the byte, members of a padded population have the results of members of a larger one that fills its tiles. All
// sizes are odd.
func TestPaddedMembersAreTheSame(t *testing.T) {
	c := DefaultConfig()
	c.Strategy, c.Policy, c.Steps, c.Seed = "simplega", "mlp:48", 33, 3
	b := xlatest.Open(t, 2)
	for _, c.LanesLast = range []bool{false, true} {
		if c.LanesLast && !long.On() {
			break
		}
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

// Regenerated noise gives the results of stored noise, to the byte. The strategies of the short form use Sum, Outer and
// All, and draw by the group's number.
func TestRedrawnNoiseChangesNothing(t *testing.T) {
	b := xlatest.Open(t, 2)
	rows := []struct {
		strategy string
		devices  int
		last     bool
	}{{"cmaes", 2, false}, {"samrga", 2, true}, {"openes", 2, true}, {"openes", 1, false}, {"pgpe", 2, false},
		{"simplega", 2, false}}
	if !long.On() {
		rows = rows[:2] // TestNormalizedRunsDoNotDependOnDevices has openes
	}
	for _, row := range rows {
		t.Run(row.strategy, func(t *testing.T) {
			c := DefaultConfig()
			c.Population, c.Steps, c.Policy, c.Tile = 86, 23, "mlp:6", 16
			c.Strategy, c.Devices, c.LanesLast = row.strategy, row.devices, row.last
			kept, drawn := start(t, b, c), redrawing(t, b, c)
			require.Equal(t, steps(t, kept, 5), steps(t, drawn, 5))
			sameBytes(t, bytesOf(t, kept), bytesOf(t, drawn), "redrawn")
		})
	}
}

// redrawing starts a run that regenerates its noise.
func redrawing(t *testing.T, b xlabridge.Backend, c Config) *Evolution {
	t.Helper()
	x, err := c.setup(plan.Machine{Devices: b.NumDevices(), CPU: b.Backend() == "cpu"})
	require.NoError(t, err)
	x.Regenerate = true
	e, err := c.build(b, x, plan.Choice{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	require.Equal(t, true, e.Profile().Fact("noise_redrawn"))
	return e
}
