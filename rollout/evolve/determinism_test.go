package evolve

import (
	"fmt"
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

// determinism is one row of the matrix: half of the generations, a snapshot, and the other half.
type determinism struct {
	name        string
	change      func(c *Config)
	devices     []int // the run is whole on the first; it goes on from the snapshot on the last
	generations int
	redrawn     bool // the last regenerates its noise
}

// broad is a run with much of what runs can have: members that share their matrices and have memory, genomes that are
// trees, normalized observations, two episodes a member, a hall of fame, and 7 tiles, of which the last is padded.
func broad() Config {
	c := DefaultConfig().With("strategy.rank", 2)
	c.Strategy, c.Policy, c.Population, c.Steps, c.Tile, c.Episodes, c.Seed = "eggroll", "elman:5", 52, 20, 8, 2, 3
	c.NormalizeObservations, c.EvalEnvs, c.EvalEvery = true, 20, 2 // by 10 members, whose tile pads one
	return c
}

// solvingXOR is NEAT on XOR.
func solvingXOR() Config {
	c := DefaultConfig()
	c.Env, c.Policy, c.Strategy, c.Population, c.Steps, c.Tune = "XOR-v0", "genome", "neat", 150, 4, "off"
	c.HallOfFame = "0"
	return c
}

// The matrix: strategies by numbers of devices. Metrics and state are equal to the byte on all of them, with stored and
// regenerated noise, and after a resume on another number of devices. The short form has the broad run, on too few
// tiles for 8 devices. The long form has cmaes, too, which reads its draws as a matrix, with batch last, unrolled;
// every strategy in a padded run, whose layout is another one for the next strategy; and one strategy of each kind in
// all layouts and over many generations.
func TestDeterminismMatrix(t *testing.T) {
	devices := []int{1, 2, 4, 8}
	layout := func(batchLast bool, unroll int) determinism {
		return determinism{fmt.Sprintf("batch last %v, unroll %d", batchLast, unroll), func(c *Config) {
			c.Tile, c.BatchLast, c.Unroll = 32, batchLast, unroll
		}, []int{1, 8}, 4, false}
	}
	rows := []determinism{{"default", func(c *Config) { c.Tile = 32 }, devices, 30, false},
		layout(true, 0), layout(true, 4), layout(false, 2)}
	wide := determinism{"many parameters", func(c *Config) {
		c.Population, c.Steps, c.Policy, c.Tile = 96, 100, "mlp:64,64", 16
	}, []int{1, 2, 8}, 4, false}
	const short = "all at once, redrawn"
	kinds := []string{"cmaes", "eggroll", "neat", "openes", "simplega"}
	clients := map[int]*xlabridge.Client{}
	for _, d := range devices {
		clients[d] = xlatest.Open(t, d)
	}
	for i, name := range strategy.Names() {
		own := []determinism{{"padded", func(c *Config) {
			c.Population, c.Steps, c.Policy, c.Tile = 38, 20, []string{"linear", "mlp:12"}[i%2], []int{8, 48, 16}[i%3]
			c.BatchLast, c.Unroll = i%4 > 1, []int{0, 2, 4}[i%3]
		}, []int{1, 8}, 4, false}}
		if slices.Contains(kinds, name) {
			own = append(own, rows...)
		}
		switch name {
		case "openes", "simplega": // cmaes would have a matrix of 4,610 parameters by 4,610
			own = append(own, wide)
		case "cmaes":
			own = append(own, determinism{"padded, batch last, redrawn", func(c *Config) {
				c.Population, c.Steps, c.Policy, c.Tile, c.BatchLast, c.Unroll = 78, 21, "linear", 16, true, 2
			}, []int{1, 8}, 4, true})
		case "eggroll":
			own = append(own, wide, determinism{short, func(c *Config) { *c = broad() }, []int{1, 8}, 4, true})
		case "neat": // its sums of floats are no trees, on however many devices
			own = append(own, determinism{"long sums", func(c *Config) { *c = solvingXOR() }, []int{1, 2, 4}, 4, false})
		}
		for _, row := range own {
			if !long.On() && row.name != short {
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
	middle, err := whole.Snapshot(t.Context())
	require.NoError(t, err)
	metrics = append(metrics, steps(t, whole, d.generations-half)...)
	state := bytesOf(t, whole)
	for i, devices := range d.devices[1:] {
		last := i+2 == len(d.devices)
		started := start
		if d.redrawn && last {
			started = redrawing
		}
		e := started(t, clients[devices], c)
		require.Equal(t, devices, e.Profile().Devices)
		require.Equal(t, metrics, steps(t, e, d.generations), "%d devices", devices)
		sameBytes(t, state, bytesOf(t, e), fmt.Sprint(devices, " devices"))
		if !last {
			continue
		}
		require.NoError(t, e.Restore(t.Context(), middle))
		require.Equal(t, metrics[half:], steps(t, e, d.generations-half), "restored on %d devices", devices)
		sameBytes(t, state, bytesOf(t, e), fmt.Sprint("restored on ", devices, " devices"))
	}
	delete(middle.Arrays, "key.data")
	require.ErrorContains(t, whole.Restore(t.Context(), middle), `no array "key.data" of u32[2]`)
}

// fitnessOf runs one generation and returns the fitness of each member.
func fitnessOf(t *testing.T, e *Evolution) []float64 {
	t.Helper()
	out, err := e.Advance()
	require.NoError(t, err)
	v, err := graph.Floats(out[0])
	require.NoError(t, err)
	xlabridge.Free(out)
	v, _ = e.config.Split(v)
	return v[:len(v)/3]
}

// To the byte, members of a padded population have the results of members of a larger one that fills its tiles. All
// sizes are odd. The short form interprets smaller programs.
func TestPaddedMembersAreTheSame(t *testing.T) {
	c := DefaultConfig()
	c.Strategy, c.Policy, c.Steps, c.Seed, c.HallOfFame = "simplega", "linear", 33, 3, "0"
	c.Tile = 6
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		c.Policy, c.Tile, b = "mlp:48", 48, xlatest.Open(t, 2)
	}
	for _, c.BatchLast = range []bool{false, true} {
		c.Population = 16*c.Tile + c.Tile/6 + 1 // 16 tiles and a part of one
		padded := start(t, b, c)
		tiles := padded.Profile().Fact("tiles").(int)
		require.GreaterOrEqual(t, tiles, 17)
		members := c.Population
		c.Population = tiles * c.Tile
		full := start(t, b, c)
		got, want := fitnessOf(t, padded), fitnessOf(t, full)
		require.Len(t, got, members)
		require.Equal(t, want[:members], got)
		require.Greater(t, slices.Max(got), slices.Min(got))
	}
}

// Regenerated noise gives the results of stored noise, to the byte. The short form interprets the programs;
// TestDeterminismMatrix compiles some.
func TestRedrawnNoiseChangesNothing(t *testing.T) {
	rows := []struct {
		strategy string
		devices  int
		last     bool
	}{{"cmaes", 2, false}, {"samrga", 2, true}, {"openes", 2, true}, {"openes", 1, false}, {"pgpe", 2, false},
		{"simplega", 2, false}}
	for _, row := range rows {
		t.Run(row.strategy, func(t *testing.T) {
			c := DefaultConfig()
			c.Population, c.Steps, c.Policy, c.Tile = 86, 23, "mlp:6", 16
			c.Strategy, c.Devices, c.BatchLast = row.strategy, row.devices, row.last
			var b xlabridge.Backend = &xlabridge.Reference{}
			if long.On() {
				b = xlatest.Open(t, 2)
			} else {
				c.Population, c.Steps, c.Policy, c.Devices = 38, 5, "linear", 1
			}
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
