package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A large concatenation that a select of the same shape may be written over gets a first axis of one element, on CPUs
// with kernels.
func TestOverwrites(t *testing.T) {
	rolled := func(x *Array) *Array {
		around := Roll(x, 1, 1)
		return Select(around.Gt(50.), x, around)
	}
	program := func(columns int, f func(x *Array) *Array) *Program {
		p, err := Trace("rolled", f, Abstract(ShapeOf(Float32, leastOverwrite/64, columns)))
		require.NoError(t, err)
		return p
	}
	for _, c := range []struct {
		name    string
		columns int
		f       func(x *Array) *Array
		target  Target
		rank    int // of the concatenation
	}{
		{"a rolled array and a select", 64, rolled, TargetCPUKernels, 3},
		{"too few elements", 63, rolled, TargetCPUKernels, 2},
		{"no select", 64, func(x *Array) *Array { return x.Add(Roll(x, 1, 1)) }, TargetCPUKernels, 2},
		{"a select of another shape", 64, func(x *Array) *Array {
			row := x.Index(0)
			return Select(row.Gt(50.), row, 0.).Add(Roll(x, 1, 1))
		}, TargetCPUKernels, 2},
		{"CPUs without kernels", 64, rolled, TargetCPU, 2},
		{"a GPU", 64, rolled, TargetCUDA, 2},
		{"in a loop", 64, func(x *Array) *Array {
			return ForiLoop(0, 4, func(_, x *Array) *Array { return rolled(x).Add(1) }, x)
		}, TargetCPUKernels, 3},
		{"a select in a loop, beside a concatenation outside", 64, func(x *Array) *Array {
			return ForiLoop(0, 4, func(_, x *Array) *Array { return Select(x.Gt(50.), 0., x.Add(1)) }, Roll(x, 1, 1))
		}, TargetCPUKernels, 2},
	} {
		p := program(c.columns, c.f)
		l, err := Lower(p, c.target)
		require.NoError(t, err, c.name)
		var ranks []int
		l.Graph.Any(func(n *Node) bool {
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
		want, err := Interpret(p.Graph, []*Tensor{x}, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, interpretLowered(t, c.target, p, x)[0].V, c.name)
	}
}
