package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Gathers that wait for equally many others become one, with the same results, in loops too.
func TestJoinedGathers(t *testing.T) {
	gather := func(x *Array) *Array { return AllGather(x, DeviceAxis) }
	x, counts := Of([][]float32{{1, 2, 3}, {4, 5, 6}}), Of([]int32{7, 8})
	for _, c := range []struct {
		what  string
		f     func(x, counts *Array) any
		after int // gathers
	}{
		{"two of three that do not wait, and one that does", func(x, counts *Array) any {
			rows, sums := gather(x), gather(x.Sum(1))
			product := sums.Sum(0).Mul(x.Index(0).Index(1))
			return []*Array{rows, sums, gather(counts), gather(product), gather(rows.Sum(0))}
		}, 3},
		{"an array of another dtype", func(x, counts *Array) any { return []*Array{gather(x), gather(counts)} }, 2},
		{"a large array", func(x, _ *Array) any {
			large := x.Index(0).Index(0).BroadcastTo(mostJoined/4 + 1)
			return []*Array{gather(large).Sum(), gather(x)}
		}, 2},
		{"in the turn of a loop", func(x, _ *Array) any {
			type state struct{ I, X *Array }
			return While(func(s state) *Array { return s.I.Lt(3) }, func(s state) state {
				return state{s.I.Add(1), gather(s.X).Sum(0).Add(gather(s.X.Sum(0)).Sum(0).ExpandDims(0))}
			}, state{Of(int32(0)), x}).X
		}, 1},
	} {
		p, err := TraceArgs("gathers", []any{x, counts}, TraceOptions{Replicas: 4}, func(in []any) any {
			return c.f(in[0].(*Array), in[1].(*Array))
		})
		require.NoError(t, err, c.what)
		require.Equal(t, c.after, opsOf(t, TargetTPU, p)["all_gather"], "%s", c.what)
		require.Greater(t, opsOf(t, TargetCUDA, p)["all_gather"], c.after-number(c.after == 2), "%s", c.what)
		alike := func(g *Graph) []*Tensor { // what four devices that hold the same compute
			require.NoError(t, g.Verify(), "%s", c.what)
			g = Rewrite(g, TargetTPU, func(o *Op) LoweringRule {
				if o.Name != "all_gather" {
					return nil
				}
				return func(_ *Cursor, n *Node, in []*Array) []*Array {
					return []*Array{BroadcastTo(ExpandDims(in[0], 0), n.Outs[0].Dims()...)}
				}
			})
			return runGraph(g, []*Tensor{tensorOf(t, x), tensorOf(t, counts)}, nil)
		}
		want, got := alike(p.Graph), alike(passCollectives.Apply(p.Graph, TargetTPU))
		for i := range want {
			require.Equal(t, want[i].V, got[i].V, "%s, result %d", c.what, i)
		}
	}
}
