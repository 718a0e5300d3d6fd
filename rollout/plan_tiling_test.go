package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
)

// Sizes of tiles for networks of CartPole, by the bytes that a step reads: mlp:16,16, mlp:64,64 and larger ones.
func TestPlanTileSizes(t *testing.T) {
	for _, c := range []struct{ population, group, params, episodes, want int }{
		{256, 2, 386, 1, 64},      // four: eight would cost two cores a tenth by the rule
		{1024, 2, 386, 1, 128},    // eight
		{256, 2, 4610, 1, 16},     // as many as the second-level cache asks for
		{1024, 2, 4610, 1, 20},    // and a quarter more, for fewer tiles
		{1024, 2, 1 << 20, 1, 20}, // about a vector register's worth, however large the network
		{256, 2, 386, 16, 16},     // episodes of a member play together
		{768, 1, 354, 1, 96},      // eight
		{777, 1, 354, 1, 65},      // twelve, padded by three
		{777, 1, 2833, 1, 26},     // thirty, padded by three
		{8, 2, 386, 1, 8},         // one
		{30, 1, 386, 1, 30},       // one, as it is
		{1000000, 1, 386, 1, 160}, // more than the cache asks for, to start the operations of a step less often
	} {
		x := plan.TilingOf(c.population, c.group, plan.Reads{Params: 4 * c.params}, c.episodes, false)
		require.Equal(t, c.want, x.Tile(), "%+v", c)
	}
	require.Equal(t, 10000, plan.TilingOf(10000, 2, plan.Reads{Params: 4 * 386}, 1, true).Tile(),
		"one tile, a quarter above the wanted size")
	require.Equal(t, 1024, plan.TilingOf(1024, 2, plan.Reads{Params: 4 * 4610}, 1, true).Tile(), "the whole population")
	require.Equal(t, 8192, plan.TilingOf(65536, 2, plan.Reads{Params: 4 * 4610}, 1, true).Tile())
	require.Equal(t, 512, plan.TilingOf(1024, 2, plan.Reads{Params: 4 * 386}, 16, true).Tile())
}

// Tiles of members that share their matrices do not shrink with the network: a product of 26 rows took half as
// long again as one of 64.
func TestPlanSharedTileSizes(t *testing.T) {
	for _, c := range []struct{ population, group, episodes, want int }{
		{1024, 2, 1, 128},  // eight
		{256, 2, 1, 128},   // two: four would cost two cores a tenth
		{16, 2, 1, 16},     // one
		{4096, 2, 1, 256},  // sixteen
		{1024, 2, 16, 20},  // episodes of a member play together
		{10000, 2, 1, 320}, // thirty-two, padded by 240
	} {
		require.Equal(t, c.want, plan.SharedTiling(c.population, c.group, c.episodes).Tile(), "%+v", c)
	}
}

// A step that computes 128 members together has tiles of about so many, however large the network is.
func TestPlanTileSizesOfLanes(t *testing.T) {
	for _, c := range []struct{ population, episodes, want int }{
		{256, 1, 128}, {128, 1, 64}, {1024, 1, 128}, {4096, 1, 160}, {40, 1, 20}, {24, 1, 24}, {1024, 16, 19},
	} {
		reads := plan.Reads{Params: 4 * 5702, Carry: 400, Lanes: 128}
		require.Equal(t, c.want, plan.TilingOf(c.population, 1, reads, c.episodes, false).Tile(), "%+v", c)
	}
	reads := plan.Reads{Params: 22808, Lanes: 128}
	require.Equal(t, 4096, plan.TilingOf(4096, 1, reads, 1, true).Tile(), "on accelerators")
}

// A list of connections that a tile's members share is worth larger tiles. Tiles of 128 genomes of 34 nodes and
// 352 connections were faster than tiles of 72.
func TestPlanTileSizesOfGenomes(t *testing.T) {
	for _, c := range []struct{ population, nodes, connections, want int }{
		{1000, 34, 352, 128},
		{1000, 7, 20, 128},
		{1000, 50, 100, 128},
		{1000, 500, 2500, 20}, // the second-level cache
		{2500, 500, 2500, 20},
		{10000, 50, 200, 152}, // 66, of up to a quarter more than 128
		{256, 34, 352, 64},    // four, as for other networks
		{20, 34, 352, 20},
	} {
		reads := plan.Reads{Params: 4 * (c.connections + 4*c.nodes), Carry: 36, Shared: 8 * c.connections}
		require.Equal(t, c.want, plan.TilingOf(c.population, 1, reads, 1, false).Tile(), "%+v", c)
	}
}

// For all sizes, tiles have whole groups and at most an eighth of padding, are not too many for two cores, and can be
// shared evenly by two cores.
func TestPlanTilesPadLittle(t *testing.T) {
	for _, params := range []int{6, 386, 2690, 4610, 17154, 1 << 20} {
		for _, episodes := range []int{1, 3, 16} {
			most := float64(max(plan.TileLeast, min(plan.TileMost, plan.TileBytes/(4*params))/episodes))
			for _, group := range []int{1, 2} {
				for population := 16; population < 5000; population += 1 + population/64 {
					population := population / group * group
					x := plan.TilingOf(population, group, plan.Reads{Params: 4 * params}, episodes, false)
					size := x.Tile()
					tiles := (population + size - 1) / size
					require.Zero(t, size%group)
					require.LessOrEqual(t, 8*(tiles*size-population), tiles*size, "%+v: %d tiles of %d", x, tiles, size)
					if population >= 2*plan.TileLeast && tiles < plan.TilesWanted {
						require.Zero(t, tiles%2, "%+v: %d tiles of %d", x, tiles, size)
					}
					require.LessOrEqual(t, float64(size), max(plan.TileLeast*2, plan.TileSlack*most+8), "%+v", x)
				}
			}
		}
	}
}
