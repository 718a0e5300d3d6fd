package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// Gathers that wait for equally many others become one, with the same results, in loops too.
func TestJoinedGathers(t *testing.T) {
	gather := func(x *graph.Array) *graph.Array { return graph.AllGather(x, graph.DeviceAxis) }
	x, counts := graph.Of([][]float32{{1, 2, 3}, {4, 5, 6}}), graph.Of([]int32{7, 8})
	for _, c := range []struct {
		what  string
		f     func(x, counts *graph.Array) any
		after int // gathers
	}{
		{"two of three that do not wait, and one that does", func(x, counts *graph.Array) any {
			rows, sums := gather(x), gather(x.Sum(1))
			product := sums.Sum(0).Mul(x.Index(0).Index(1))
			return []*graph.Array{rows, sums, gather(counts), gather(product), gather(rows.Sum(0))}
		}, 3},
		{"an array of another dtype", func(x, counts *graph.Array) any {
			return []*graph.Array{gather(x),
				gather(counts)}
		}, 2},
		{"a large array", func(x, _ *graph.Array) any {
			large := x.Index(0).Index(0).BroadcastTo(mostJoined/4 + 1)
			return []*graph.Array{gather(large).Sum(), gather(x)}
		}, 2},
		{"in the iteration of a loop", func(x, _ *graph.Array) any {
			type state struct{ I, X *graph.Array }
			return graph.While(func(s state) *graph.Array { return s.I.Lt(3) }, func(s state) state {
				return state{s.I.Add(1), gather(s.X).Sum(0).Add(gather(s.X.Sum(0)).Sum(0).ExpandDims(0))}
			}, state{graph.Of(int32(0)), x}).X
		}, 1},
	} {
		p, err := graph.TraceArgs("gathers", []any{x, counts}, graph.TraceOptions{Replicas: 4}, func(in []any) any {
			return c.f(in[0].(*graph.Array), in[1].(*graph.Array))
		})
		require.NoError(t, err, c.what)
		require.Equal(t, c.after, opsOf(t, graph.TargetTPU, p)["all_gather"], "%s", c.what)
		apart := opsOf(t, graph.TargetCUDA, p)["all_gather"]
		require.True(t, apart > c.after || c.after == 2 && apart == 2, "%s", c.what)
		alike := func(g *graph.Graph) []*graph.Tensor { // what four devices that hold the same compute
			require.NoError(t, g.Verify(), "%s", c.what)
			g = graph.Rewrite(g, graph.TargetTPU, func(o *graph.Op) graph.LoweringRule {
				if o.Name != "all_gather" {
					return nil
				}
				return func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
					return []*graph.Array{graph.BroadcastTo(graph.ExpandDims(in[0], 0), n.Outs[0].Dims()...)}
				}
			})
			return runProgram(t, &graph.Program{Graph: g}, []*graph.Tensor{tensorOf(t, x), tensorOf(t, counts)})
		}
		want, got := alike(p.Graph), alike(passCollectives.Apply(p.Graph, graph.TargetTPU))
		for i := range want {
			require.Equal(t, want[i].V, got[i].V, "%s, result %d", c.what, i)
		}
	}
}
