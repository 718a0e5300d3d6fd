package random_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Weights that are subnormal, or not much larger, are drawn in proportion, too, also on a device that takes subnormal
// numbers for 0: as those of the first row.
func TestSmallWeights(t *testing.T) {
	const draws = 100
	weights := []float64{0, 1, 0, 3, -1, 2}
	rows := func(units ...float64) *graph.Array {
		var out []float64
		for _, unit := range units {
			for _, w := range weights {
				out = append(out, w*unit)
			}
		}
		return graph.Float64s(out, len(units), len(weights))
	}
	draw := func(w *graph.Array) *graph.Array {
		return graph.Concatenate(0, random.Choice(random.New(2), len(weights), random.Draws(draws), random.Weights(w)),
			random.Choice(random.New(3), len(weights), random.Draws(3), random.Weights(w), random.WithoutReplacement()))
	}
	single := rows(1, 0x1p-149, 0x1p-130, 0x1p-127, 0x1p-126, 0x1p-110, 0x1p-103, 0x1p-90).Convert(graph.Float32)
	double := rows(1, 0x1p-1074, 0x1p-1030, 0x1p-1023, 0x1p-1022, 0x1p-990, 0x1p-970, 0x1p-900)
	for name, backend := range xlatest.Backends(t) {
		got, err := xlabridge.Jit2(backend, func(single, double *graph.Array) *graph.Array {
			return graph.Concatenate(0, graph.VMap(draw)(single), graph.VMap(draw)(double))
		})(single, double)
		require.NoError(t, err)
		all := floats(t, got)
		row := len(all) / got.Dim(0)
		for half := range 2 {
			first := all[half*len(all)/2:][:row]
			require.Contains(t, first[:draws], 1.)
			require.Contains(t, first[:draws], 3.)
			require.Contains(t, first[:draws], 5.)
			for i := range got.Dim(0) / 2 {
				require.Equal(t, first, all[half*len(all)/2+i*row:][:row], "%s: half %d, row %d", name, half, i)
			}
		}
	}
}
