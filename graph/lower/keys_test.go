package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// Keys have no barriers on accelerators. On CPUs each of the two hashes has one more, of the pass once. Other arrays
// keep theirs, also those beside a key.
func TestKeysWithoutBarriers(t *testing.T) {
	p, err := graph.Trace("keys", func(key *graph.Array) []*graph.Array {
		hash := func(key *graph.Array) *graph.Array {
			x0, x1 := graph.Random.ThreeFry2x32(key.Index(0), key.Index(1), graph.Of(uint32(0)), graph.Of(uint32(7)))
			return graph.Barrier(graph.Stack([]*graph.Array{x0, x1}, 0))[0]
		}
		child := hash(key)
		both := graph.Barrier(child, key, graph.Iota(3).Mul(graph.Convert(key.Index(0), graph.Int32)))
		return []*graph.Array{hash(both[0]), both[1], both[2], graph.Barrier(child.Add(1))[0]}
	}, graph.Abstract(graph.ShapeOf(graph.Uint32, 2)))
	require.NoError(t, err)
	in := tensorOf(t, graph.Of([]uint32{5, 6}))
	want := interpretLowered(t, graph.TargetCPU, p, in)
	for target, barriers := range map[graph.Target]int{graph.TargetCPU: 6, graph.TargetCUDA: 2, graph.TargetTPU: 2} {
		require.Equal(t, barriers, opsOf(t, target, p)["optimization_barrier"], "%s", target)
		for i, got := range interpretLowered(t, target, p, in) {
			require.Equal(t, want[i].V, got.V, "%s, result %d", target, i)
		}
	}
}
