package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// A concatenation that a gather reads often is stored on CPUs: 16 lags of a series took twice as long without.
func TestGatherOfParts(t *testing.T) {
	lags := func(lags int) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			lag := func(k *graph.Array) *graph.Array {
				twice := graph.Concatenate(0, x, x)
				return graph.DynamicSlice(twice, []*graph.Array{graph.Sub(64, k)}, []int{64}).Mul(x).Sum()
			}
			return graph.VMap(lag)(graph.Iota(lags))
		}
	}
	for _, c := range []struct {
		name   string
		lags   int
		target graph.Target
		stored bool
	}{
		{"16 lags", 16, graph.TargetCPUKernels, true},
		{"as many elements as are read", 2, graph.TargetCPUKernels, false},
		{"a GPU", 16, graph.TargetCUDA, false},
	} {
		p, err := graph.Trace("lags", lags(c.lags), graph.Zeros(graph.ShapeOf(graph.Float32, 64)))
		require.NoError(t, err, c.name)
		l, err := Lower(p, c.target)
		require.NoError(t, err, c.name)
		require.Equal(t, c.stored, l.Graph.Any(func(n *graph.Node) bool {
			return n.Op.Name == "gather" && n.Inputs[0].Node() != nil &&
				n.Inputs[0].Node().Op.Name == "optimization_barrier"
		}), c.name)
	}
}
