package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys have no barriers on accelerators. Other arrays keep theirs, also those beside a key.
func TestKeysWithoutBarriers(t *testing.T) {
	p, err := Trace("keys", func(key *Array) []*Array {
		hash := func(key *Array) *Array {
			x0, x1 := Random.ThreeFry2x32(key.Index(0), key.Index(1), Of(uint32(0)), Of(uint32(7)))
			return Barrier(Stack([]*Array{x0, x1}, 0))[0]
		}
		child := hash(key)
		both := Barrier(child, key, Iota(3).Mul(Convert(key.Index(0), Int32)))
		return []*Array{hash(both[0]), both[1], both[2], Barrier(child.Add(1))[0]}
	}, Abstract(ShapeOf(Uint32, 2)))
	require.NoError(t, err)
	in := tensorOf(t, Of([]uint32{5, 6}))
	want := interpretLowered(t, TargetCPU, p, in)
	for target, barriers := range map[Target]int{TargetCPU: 4, TargetCUDA: 2, TargetTPU: 2} {
		require.Equal(t, barriers, opsOf(t, target, p)["optimization_barrier"], "%s", target)
		for i, got := range interpretLowered(t, target, p, in) {
			require.Equal(t, want[i].V, got.V, "%s, result %d", target, i)
		}
	}
}
