package lower

import (
	"strings"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// The loop over a population's tiles counted to an input on accelerators, too: a GPU asked the host after each
// iteration, and the compiler did not know how many kernels a round launches.
func TestTripCount(t *testing.T) {
	loop := func(known bool) *graph.Program {
		type carry struct{ I, X *graph.Array }
		args := []any{graph.Abstract(graph.ShapeOf(graph.Int32)), graph.Abstract(graph.ShapeOf(graph.Float32, 3))}
		p, err := graph.TraceArgs("tiles", args, graph.TraceOptions{}, func(in []any) any {
			n, x := in[0].(*graph.Array), in[1].(*graph.Array)
			if known {
				n = graph.TripCount(n, 77)
			}
			return graph.While(func(c carry) *graph.Array { return graph.Lt(c.I, n) }, func(c carry) carry {
				return carry{graph.Add(c.I, 1), graph.Sin(c.X)}
			}, carry{graph.Zeros(graph.ShapeOf(graph.Int32)), x}).X
		})
		require.NoError(t, err)
		return p
	}
	for _, target := range graph.Targets {
		known, err := Lower(loop(true), target)
		require.NoError(t, err)
		input, err := Lower(loop(false), target)
		require.NoError(t, err)
		require.Equal(t, target.Accelerator(), strings.Contains(known.StableHLO, "dense<77>"), "%s", target)
		require.Equal(t, !target.Accelerator(), known.StableHLO == input.StableHLO, "%s", target)
	}
}
