package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// On a GPU lanes of a loop that have ended write nothing, where other targets choose between the old and the new array.
func TestEndedLanes(t *testing.T) {
	type state struct{ I, X *Array }
	count := func(length, x *Array) *Array { // fills the first length rows with their number
		return While(func(s state) *Array { return s.I.Lt(length) }, func(s state) state {
			return state{s.I.Add(1), DynamicUpdateIndex(s.X, BroadcastTo(Add(s.I, 1).Convert(x.DType()), 3), s.I, 0)}
		}, state{Of(int32(0)), x}).X
	}
	lengths, x := Of([]int32{0, 2, 5, 1, 3}), Mul(IotaAxis(ShapeOf(Float32, 5, 4, 3), 1), -1).Convert(Float32)
	p, err := TraceArgs("count", []any{lengths, x}, TraceOptions{}, func(in []any) any {
		return VMap2(count)(in[0].(*Array), in[1].(*Array))
	})
	require.NoError(t, err)
	in := []*Tensor{tensorOf(t, lengths), tensorOf(t, x)}
	want := interpretLowered(t, TargetCPU, p, in...)[0]
	for _, target := range []Target{TargetCUDA, TargetTPU} {
		require.Equal(t, want.V, interpretLowered(t, target, p, in...)[0].V, "%s", target)
	}
	for lane, length := range []int{0, 2, 5, 1, 3} { // the fifth write of lane 2 is moved into its 4 rows
		for row := range 4 {
			got, wants := want.F(lane*12+row*3), -float64(row)
			if row < length {
				wants = float64(row + 1)
			}
			if length == 5 && row == 3 {
				wants = 5
			}
			require.InDelta(t, wants, got, 0, "lane %d, row %d", lane, row)
		}
	}
	l, err := Lower(p, TargetCUDA)
	require.NoError(t, err)
	require.False(t, l.Graph.Any(func(n *Node) bool {
		return n.Op.Name == "select" && n.Outs[0].shape.Equal(x.shape)
	}), "no choice between whole arrays")
}
