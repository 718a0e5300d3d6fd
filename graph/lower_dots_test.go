package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Several contracted axes are written as one; of two orders the larger operand's counts.
func TestContractedAxesAreMerged(t *testing.T) {
	p, err := Trace2("dot", func(x, y *Array) *Array {
		return Einsum("abi,baj->ij", x, y)
	}, Abstract(ShapeOf(Float32, 4, 5, 6)), Abstract(ShapeOf(Float32, 5, 4, 2)))
	require.NoError(t, err)
	l, err := Lower(p, TargetCPU)
	require.NoError(t, err)
	require.Contains(t, l.StableHLO, "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]")
	require.Contains(t, l.StableHLO, `"stablehlo.transpose"(%arg1)`)
	require.NotContains(t, l.StableHLO, `"stablehlo.transpose"(%arg0)`)
}
