package qd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
)

// TestHypervolumeOfManyPlaces: with three objectives all pairs of places were in memory at once.
func TestHypervolumeOfManyPlaces(t *testing.T) {
	const places, points = 100_000, 12
	flat := make([]float32, 3*points)
	for i := range flat {
		flat[i] = float32(i * 7 % 11)
	}
	few := graph.Float32s(flat, points, 3)
	empty := graph.Full(graph.ShapeOf(graph.Float32, places-points, 3), -1e9)
	reference := graph.Float32s([]float32{1, 1, 1})
	want := floats(t, hypervolume(few, reference))[0]
	require.Positive(t, want)
	require.InDelta(t, want, floats(t, hypervolume(graph.Concatenate(0, empty, few), reference))[0], 1e-3)
}

// TestHypervolumesAreCounted: the check of memory and time did not know of hypervolumes.
func TestHypervolumesAreCounted(t *testing.T) {
	c := small()
	c.Env, c.Policy, c.Archive, c.Front, c.Memory = "MultiRastrigin-v0", "vector", "grid:32", 50, 46<<20
	c.Names, c.Reference = "at_0,at_2.2,return", []float64{-1, -1, -1}
	require.ErrorContains(t, c.Check(plan.Machine{Devices: 1}), "fewer cells or a smaller --front: 51200 ")
	c.Memory = 0
	require.NoError(t, c.Check(plan.Machine{Devices: 1}))
	c.Archive = "grid:200"
	require.ErrorContains(t, c.Check(plan.Machine{Devices: 1}), "hypervolumes take too long")
}
