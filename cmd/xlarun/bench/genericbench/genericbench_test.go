package genericbench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

func TestNamed(t *testing.T) {
	for _, p := range All() {
		got, ok := Named(p.Name)
		require.True(t, ok)
		require.Equal(t, p.Name, got.Name)
	}
	_, ok := Named("nothing")
	require.False(t, ok)
}

// Every program can be traced, and gives at least one result.
func TestProgramsTrace(t *testing.T) {
	for _, p := range All() {
		traced, err := graph.Trace(p.Name, p.Apply, p.In())
		require.NoError(t, err, p.Name)
		require.NotEmpty(t, traced.Outputs, p.Name)
	}
}

func TestAgree(t *testing.T) {
	f := func(sums ...[3]float64) Figures { return Figures{Sums: sums} }
	require.NoError(t, Agree(f([3]float64{1, 10, 0}), f([3]float64{1.01, 10.01, .01})))
	require.ErrorContains(t, Agree(f([3]float64{1, 10, 0}), f([3]float64{1, 11, 0})), "checksum 1 of result 0")
	require.ErrorContains(t, Agree(f([3]float64{math.NaN(), 10, 0}), f([3]float64{1, 10, 0})), "checksum 0")
	require.ErrorContains(t, Agree(f(), f([3]float64{1, 10, 0})), "we have 0 results, they 1")
}

// The numbers that jax_generic.py makes.
func TestInputs(t *testing.T) {
	v, err := graph.Floats(gen(1, 2, 3))
	require.NoError(t, err)
	for i, want := range []float64{1.0652070, -1.4958760, .8037249} {
		require.InDelta(t, want, v[i], 1e-6)
	}
}
