package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
)

func TestPlanInWords(t *testing.T) {
	require.Equal(t, "1 device, tiles of 48, batch first, unroll 1", plan.Plan{Devices: 1, Tile: 48}.String())
	require.Equal(t, "8 devices, tiles of 128, batch last, unroll 4, 128-bit vectors",
		plan.Plan{Devices: 8, Tile: 128, BatchLast: true, Unroll: 4, VectorWidth: 128}.String())
	widest := plan.Plan{Tile: 48, VectorWidth: plan.VectorBits()}
	wider := plan.Plan{Tile: 48, VectorWidth: 2 * plan.VectorBits()}
	require.Equal(t, widest.Layout(), wider.Layout(), "no wider than the processor's, as plans said")
	require.Empty(t, plan.Plan{}.Compile().XLA)
	require.Equal(t, map[string]any{"xla_cpu_prefer_vector_width": 256}, plan.Plan{VectorWidth: 256}.Compile().XLA)
}

// A size is larger than what is free or allowed, and one byte is one.
func TestPlanMoreThan(t *testing.T) {
	require.Equal(t, ", which is more than the 1 byte that --memory allows", plan.MoreThan(1, true))
	require.Equal(t, ", which is more than the 1.5 GiB that is free", plan.MoreThan(3<<29, false))
	require.Equal(t, "a run that fits in memory: the compiled program takes 2.0 KiB, which is more than the 1.0 KiB "+
		"that --memory allows; the largest population that fits is about 7",
		plan.TooLargeCompiled(2048, 1024, 2048, func(free int64) int {
			require.EqualValues(t, 1024, free)
			return 7
		}))
}

// A kind of run gets the settings of the layout that it has.
func TestPlanSettings(t *testing.T) {
	var experiment struct {
		Tile      int  `set:"tile"`
		BatchLast bool `set:"batch-last"`
		Seed      int  `set:"seed"`
	}
	p := plan.Plan{Devices: 2, Tile: 48, BatchLast: true, Unroll: 4, VectorWidth: 512}
	require.Equal(t, settings.Values{"tile": 48, "batch-last": true}, p.Settings(&experiment))
}
