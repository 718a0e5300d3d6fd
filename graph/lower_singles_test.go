package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A single number in the carry of a population's scan is an array of the members on a GPU, with the same results.
func TestSinglesForMembers(t *testing.T) {
	type state struct{ Each, Time, Going, Kept *Array }
	f := func(members int) *Program {
		p, err := Trace("singles", func(x *Array) state {
			last, _ := Scan(func(s state, _ None) (state, None) {
				next := s.Time.Add(1)
				step := s.Time.Add(s.Kept).Convert(Float32) // a number that changes and one that does not
				s.Each = Select(s.Going, s.Each.Add(step), s.Each).Add(DynamicIndex(s.Each, s.Time, 0))
				return state{s.Each, next, s.Going.And(next.Lt(2)), s.Kept}, None{}
			}, state{x, Full(ShapeOf(Int32), 0), Full(ShapeOf(Bool), true), Full(ShapeOf(Int32), 5)}, None{}, Length(4))
			return last
		}, Abstract(ShapeOf(Float32, members)))
		require.NoError(t, err)
		return p
	}
	for members, kept := range map[int]int{leastMembers: 1, leastMembers - 1: 3} {
		p := f(members)
		require.NoError(t, lowerTo(p, "singles", TargetCUDA).Verify())
		x := tensorOf(t, Iota(members).Convert(Float32))
		want, got := interpretLowered(t, TargetCPU, p, x), interpretLowered(t, TargetCUDA, p, x)
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].V, got[i].V, "result %d of %d members", i, members)
		}
		singles := 0
		for _, n := range lowerTo(p, "singles", TargetCUDA).Nodes {
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
