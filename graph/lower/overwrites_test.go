package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A large concatenation that a select of the same shape may be written over gets a first axis of one element, on CPUs
// with kernels.
func TestOverwrites(t *testing.T) {
	rolled := func(x *graph.Array) *graph.Array {
		around := graph.Roll(x, 1, 1)
		return graph.Select(around.Gt(50.), x, around)
	}
	program := func(columns int, f func(x *graph.Array) *graph.Array) *graph.Program {
		p, err := graph.Trace("rolled", f, graph.Abstract(graph.ShapeOf(graph.Float32, leastOverwrite/64, columns)))
		require.NoError(t, err)
		return p
	}
	for _, c := range []struct {
		name    string
		columns int
		f       func(x *graph.Array) *graph.Array
		target  graph.Target
		rank    int // of the concatenation
	}{
		{"a rolled array and a select", 64, rolled, graph.TargetCPUKernels, 3},
		{"too few elements", 63, rolled, graph.TargetCPUKernels, 2},
		{"no select", 64, func(x *graph.Array) *graph.Array { return x.Add(graph.Roll(x, 1, 1)) },
			graph.TargetCPUKernels, 2},
		{"a select of another shape", 64, func(x *graph.Array) *graph.Array {
			row := x.Index(0)
			return graph.Select(row.Gt(50.), row, 0.).Add(graph.Roll(x, 1, 1))
		}, graph.TargetCPUKernels, 2},
		{"CPUs without kernels", 64, rolled, graph.TargetCPU, 2},
		{"a GPU", 64, rolled, graph.TargetCUDA, 2},
		{"in a loop", 64, func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 4, func(_, x *graph.Array) *graph.Array { return rolled(x).Add(1) }, x)
		}, graph.TargetCPUKernels, 3},
		{"a select in a loop, beside a concatenation outside", 64, func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 4, func(_, x *graph.Array) *graph.Array {
				return graph.Select(x.Gt(50.), 0.,
					x.Add(1))
			}, graph.Roll(x, 1, 1))
		}, graph.TargetCPUKernels, 2},
	} {
		p := program(c.columns, c.f)
		l, err := Lower(p, c.target)
		require.NoError(t, err, c.name)
		var ranks []int
		l.Graph.Any(func(n *graph.Node) bool {
			if n.Op.Name == "concatenate" {
				ranks = append(ranks, n.Outs[0].Rank())
			}
			return false
		})
		require.Equal(t, []int{c.rank}, ranks, c.name)
		x := newTensor(p.Inputs[0])
		for k := range x.V {
			x.SetF(k, float64(k*37%101))
		}
		want, err := graph.Interpret(p.Graph, []*graph.Tensor{x}, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, interpretLowered(t, c.target, p, x)[0].V, c.name)
	}
}
