package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A single number in the carry of a population's scan is an array of the members on a GPU, with the same results.
func TestSinglesForMembers(t *testing.T) {
	type state struct{ Each, Time, Going, Kept *graph.Array }
	f := func(members int) *graph.Program {
		p, err := graph.Trace("singles", func(x *graph.Array) state {
			last, _ := graph.Scan(func(s state, _ graph.None) (state, graph.None) {
				next := s.Time.Add(1)
				step := s.Time.Add(s.Kept).Convert(graph.Float32) // a number that changes and one that does not
				s.Each = graph.Select(s.Going, s.Each.Add(step), s.Each).Add(graph.DynamicIndex(s.Each, s.Time, 0))
				return state{s.Each, next, s.Going.And(next.Lt(2)), s.Kept}, graph.None{}
			}, state{x, graph.Full(graph.ShapeOf(graph.Int32), 0), graph.Full(graph.ShapeOf(graph.Bool), true),
				graph.Full(graph.ShapeOf(graph.Int32), 5)}, graph.None{}, graph.Length(4))
			return last
		}, graph.Abstract(graph.ShapeOf(graph.Float32, members)))
		require.NoError(t, err)
		return p
	}
	for members, kept := range map[int]int{leastMembers: 1, leastMembers - 1: 3} {
		p := f(members)
		require.NoError(t, lowerTo(p, "singles", graph.TargetCUDA).Verify())
		x := tensorOf(t, graph.Iota(members).Convert(graph.Float32))
		want, got := interpretLowered(t, graph.TargetCPU, p, x), interpretLowered(t, graph.TargetCUDA, p, x)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].V, got[i].V, "result %d of %d members", i, members)
		}
		singles := 0
		for _, n := range lowerTo(p, "singles", graph.TargetCUDA).Nodes {
			if n.Op.Name == "scan" {
				for _, o := range n.Outs {
					if o.Rank() == 0 {
						singles++
					}
				}
			}
		}
		require.Equal(t, kept, singles, "%d members", members)
	}
}
