package bench_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/genericbench"
	"xlarun/graph"
)

// Every program can be traced, and gives at least one result.
func TestGenericProgramsTrace(t *testing.T) {
	for _, p := range genericbench.All() {
		traced, err := graph.Trace(p.Name, p.Apply, p.In())
		require.NoError(t, err, p.Name)
		require.NotEmpty(t, traced.Outputs, p.Name)
	}
}

func TestGenericChecks(t *testing.T) {
	c, err := genericbench.Checks(genericbench.In{graph.Float32s([]float32{1, -2, 3}, 3)})
	require.NoError(t, err)
	// sum 2, magnitudes 6, weighted -3*1 + -2*-2 + -1*3 = -2
	require.InDeltaSlice(t, []float64{1 + 2./7, 7, 1 - 2./19}, c, 1e-9)
}

// The numbers that jax_generic.py makes: those of the seed 1, which lie between -1 and 1.
func TestGenericInputs(t *testing.T) {
	all := genericbench.All()
	blur := slices.IndexFunc(all, func(p genericbench.Program) bool { return p.Name == "blur" })
	v, err := graph.Floats(all[blur].In()[0])
	require.NoError(t, err)
	for i, want := range []float64{.53260350, -.74793800, .40186245} {
		require.InDelta(t, want, v[i], 1e-6)
	}
}
