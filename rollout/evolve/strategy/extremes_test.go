package strategy

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// A finite fitness whose squares overflow float32 moves a strategy by finite steps, in the same direction as in smaller
// units.
func TestHugeFitnessIsOnlyLarge(t *testing.T) {
	base := []float64{1, 5, 2, 4, 3, 0, 7, 6, -1, 2.5}
	weights := func(unit float64, of func(f *graph.Array) *graph.Array) []float64 {
		f := make([]float32, len(base))
		for i, x := range base {
			f[i] = float32(x * unit)
		}
		var v []float64
		err := graph.Try(func() {
			var err error
			v, err = graph.Floats(of(graph.Float32s(f, len(f))))
			require.NoError(t, err)
		})
		require.NoError(t, err)
		return v
	}
	zScore := func(f *graph.Array) *graph.Array {
		e := &OpenES{Shaped: Shaped{Shaping: shapeZScore}}
		return shape(e.Shaped, e, GaussianState{}, f, Draws[*graph.Array]{})
	}
	ars := func(ratio float64) func(f *graph.Array) *graph.Array {
		return func(f *graph.Array) *graph.Array {
			e := &ARS{gaussian{Sigma: settings.Num(.1)}, ratio}
			return e.weights(graph.SliceAxis(f, 0, 0, 5), graph.SliceAxis(f, 0, 5, 10))
		}
	}
	for i, c := range []struct {
		what string
		of   func(f *graph.Array) *graph.Array
	}{
		{"ars, half of the pairs", ars(.5)},
		{"ars, all pairs", ars(1)},
		{"z-score", zScore},
	} {
		want := weights(1, c.of)
		for _, unit := range []float64{1e-3, 1e7, 1e20, 1e30, 4e37} {
			got := weights(unit, c.of)
			for j := range want {
				require.False(t, math.IsNaN(got[j]) || math.IsInf(got[j], 0), "case %d: %s in units of %g", i+1, c.what,
					unit)
			}
			if unit > 1 {
				require.InDeltaSlice(t, want, got, 1e-4, fmt.Sprintf("case %d: %s in units of %g", i+1, c.what, unit))
			}
		}
	}
	equal := func(f *graph.Array) *graph.Array { return graph.Full(f.Shape(), 3e38) }
	for _, of := range []func(f *graph.Array) *graph.Array{ars(.5), zScore} {
		for _, x := range weights(1, func(f *graph.Array) *graph.Array { return of(equal(f)) }) {
			require.Zero(t, x, "of equal members")
		}
	}
	// One pair far above all others, which are no elites
	v := weights(1, func(*graph.Array) *graph.Array {
		f := graph.Float32s([]float32{1e21, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10)
		return ars(.5)(f)
	})
	for _, x := range v {
		require.False(t, math.IsNaN(x) || math.IsInf(x, 0))
	}
}
