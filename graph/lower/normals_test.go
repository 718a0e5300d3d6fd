package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Where the kernel would round in another way than the compiler, it draws bits alone, and ops make normal numbers of
// them: else large draws would differ from small ones.
func TestNormalsOfOps(t *testing.T) {
	p, err := graph.Trace("normals", func(key random.Key) *graph.Array {
		return random.Normal(key, graph.ShapeOf(graph.Float32, 4096))
	}, random.New(0))
	require.NoError(t, err)
	for _, ops := range []bool{false, true} {
		target := graph.TargetCPUKernels
		target.NoNormals = ops
		l, err := Lower(p, target)
		require.NoError(t, err)
		for name, want := range map[string]bool{"custom_call": true, "bitcast": ops} {
			got := l.Graph.Any(func(n *graph.Node) bool { return n.Op.Name == name })
			require.Equal(t, want, got, "%s, %v", name, ops)
		}
	}
}
