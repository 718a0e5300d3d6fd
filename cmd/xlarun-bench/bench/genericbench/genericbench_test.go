package genericbench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Every program can be traced, and gives at least one result.
func TestProgramsTrace(t *testing.T) {
	for _, p := range All() {
		traced, err := graph.Trace(p.Name, p.Apply, p.In())
		require.NoError(t, err, p.Name)
		require.NotEmpty(t, traced.Outputs, p.Name)
	}
}

func TestChecks(t *testing.T) {
	c, err := Checks(In{graph.Float32s([]float32{1, -2, 3}, 3)})
	require.NoError(t, err)
	// sum 2, magnitudes 6, weighted -3*1 + -2*-2 + -1*3 = -2
	require.InDeltaSlice(t, []float64{1 + 2./7, 7, 1 - 2./19}, c, 1e-9)
}

// The numbers that jax_generic.py makes.
func TestInputs(t *testing.T) {
	v, err := graph.Floats(gen(1, 2, 3))
	require.NoError(t, err)
	for i, want := range []float64{1.0652070, -1.4958760, .8037249} {
		require.InDelta(t, want, v[i], 1e-6)
	}
}
