package generation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
)

// Evaluations have tiles of their own: the population's tiles are as without them, on any number of devices.
func TestEvaluationsDoNotChangeTiles(t *testing.T) {
	for _, x := range []struct {
		population, envs, devices int
		accelerator, single       bool
	}{{256, 0, 1, true, true}, {256, 64, 1, true, true}, {256, 1000, 1, true, true}, {256, 64, 2, true, false},
		{250, 64, 1, true, true}, {256, 64, 1, false, false}, {250, 64, 4, false, false}} {
		c := DefaultSearch()
		c.Population, c.EvalEnvs, c.Devices = x.population, x.envs, x.devices
		on := plan.Machine{Devices: x.devices, Accelerator: x.accelerator, CPU: !x.accelerator}
		s, err := c.NewSetup(Options{}, on)
		require.NoError(t, err)
		require.Equal(t, s.Layout.Tile, s.Groups.Lanes*s.Strategy.GroupSize, "%+v", x)
		require.Equal(t, x.single, s.Groups.Single, "%+v", x)
		lanes := s.Groups.Lanes
		require.Equal(t, (x.envs/s.Strategy.GroupSize+lanes-1)/lanes, s.Groups.ExtraTiles(), "%+v", x)
		require.Equal(t, (s.Groups.Used()+x.devices-1)/x.devices, s.Groups.PerDevice, "%+v", x)
	}
}

// A tile that is larger than a device's members has those: others would be computed for nothing.
func TestTilesLargerThanThePopulation(t *testing.T) {
	for _, x := range []struct {
		population, devices, tile int
		strategy                  string
		want                      int
	}{{16, 1, 1000, "simplega", 16}, {16, 2, 1000, "simplega", 8}, {17, 2, 1000, "simplega", 9},
		{18, 2, 1000, "openes", 10}, {16, 1, 16, "simplega", 16}, {16, 2, 4, "simplega", 4}} {
		c := DefaultSearch()
		c.Population, c.Devices, c.Tile, c.Strategy = x.population, x.devices, x.tile, x.strategy
		s, err := c.NewSetup(Options{}, plan.Machine{Devices: x.devices, CPU: true})
		require.NoError(t, err)
		require.Equal(t, x.want, s.Layout.Tile, "%+v", x)
	}
}

// The items of another list are computed only when they are due, also behind a single tile.
func TestTilesOfAnotherList(t *testing.T) {
	for _, tiles := range []population.Tiles{
		population.CutTiles(7, 3, 1).WithExtra(4),
		{Items: 5, Lanes: 5, Devices: 1, PerDevice: 1, Single: true},
		population.Tiles{Items: 7, Lanes: 7, Devices: 1, PerDevice: 1, Single: true}.WithExtra(4),
	} {
		for _, due := range []bool{false, true} {
			of := tiles
			of.Alone = true
			if of.Extra > 0 {
				of = of.ExtraIf(graph.Scalar(due))
			}
			all, err := graph.Eval(population.Map(of, of.Count(), func(item *graph.Array) *graph.Array {
				return item.Add(10)
			}))
			require.NoError(t, err)
			got, err := graph.Floats(all)
			require.NoError(t, err)
			want := make([]float64, of.Items+of.Extra)
			for i := range want {
				if i < of.Items || due {
					want[i] = float64(10 + i)
				}
			}
			require.Equal(t, want, got, "%+v", tiles)
		}
	}
}
