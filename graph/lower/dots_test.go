package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// Several contracted axes are written as one; of two orders the larger operand's counts.
func TestContractedAxesAreMerged(t *testing.T) {
	p, err := graph.Trace2("dot", func(x, y *graph.Array) *graph.Array {
		return graph.Einsum("abi,baj->ij", x, y)
	}, graph.Abstract(graph.ShapeOf(graph.Float32, 4, 5, 6)), graph.Abstract(graph.ShapeOf(graph.Float32, 5, 4, 2)))
	require.NoError(t, err)
	l, err := Lower(p, graph.TargetCPU)
	require.NoError(t, err)
	require.Contains(t, l.StableHLO, "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]")
	require.Contains(t, l.StableHLO, `"stablehlo.transpose"(%arg1)`)
	require.NotContains(t, l.StableHLO, `"stablehlo.transpose"(%arg0)`)
}
