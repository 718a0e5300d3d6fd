package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// On a GPU lanes of a loop that have ended write nothing, where other targets choose between the old and the new array.
func TestEndedLanes(t *testing.T) {
	type state struct{ I, X *graph.Array }
	count := func(length, x *graph.Array) *graph.Array { // fills the first length rows with their number
		return graph.While(func(s state) *graph.Array { return s.I.Lt(length) }, func(s state) state {
			return state{s.I.Add(1), graph.DynamicUpdateIndex(s.X, graph.BroadcastTo(graph.Add(s.I,
				1).Convert(x.DType()), 3), s.I, 0)}
		}, state{graph.Of(int32(0)), x}).X
	}
	lengths, x := graph.Of([]int32{0, 2, 5, 1, 3}), graph.Mul(graph.IotaAxis(graph.ShapeOf(graph.Float32, 5, 4, 3), 1),
		-1).Convert(graph.Float32)
	p, err := graph.TraceArgs("count", []any{lengths, x}, graph.TraceOptions{}, func(in []any) any {
		return graph.VMap2(count)(in[0].(*graph.Array), in[1].(*graph.Array))
	})
	require.NoError(t, err)
	in := []*graph.Tensor{tensorOf(t, lengths), tensorOf(t, x)}
	want := interpretLowered(t, graph.TargetCPU, p, in...)[0]
	for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
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
	l, err := Lower(p, graph.TargetCUDA)
	require.NoError(t, err)
	require.False(t, l.Graph.Any(func(n *graph.Node) bool {
		return n.Op.Name == "select" && n.Outs[0].Shape().Equal(x.Shape())
	}), "no choice between whole arrays")
}
