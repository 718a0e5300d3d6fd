package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// Rolls of one array become slices of it with a border, on CPUs, and give the same results.
func TestRolls(t *testing.T) {
	neighbors := func(x *graph.Array) *graph.Array { // weighted, so that no two may be exchanged
		sum, weight := graph.ZerosLike(x), 0.
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				weight++
				sum = graph.Add(sum, graph.Mul(weight, graph.Roll(graph.Roll(x, dy, 0), dx, 1)))
			}
		}
		return sum
	}
	for _, c := range []struct {
		name           string
		dims           []int
		f              func(x *graph.Array) *graph.Array
		target         graph.Target
		concatenations int // in the lowered program
	}{
		{"the neighbors in a grid", []int{64, 64}, neighbors, graph.TargetCPUKernels, 2},
		{"CPUs without kernels", []int{32, 128}, neighbors, graph.TargetCPU, 2},
		{"a GPU", []int{64, 64}, neighbors, graph.TargetCUDA, 8},
		{"too few elements", []int{63, 65}, neighbors, graph.TargetCPUKernels, 8},
		{"short rows", []int{256, 31}, neighbors, graph.TargetCPUKernels, 8},
		{"in a loop", []int{64, 64}, func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 3, func(_, x *graph.Array) *graph.Array { return neighbors(x).Mul(.125) }, x)
		}, graph.TargetCPUKernels, 2},
		{"one axis, unlike places", []int{4096}, func(x *graph.Array) *graph.Array {
			return graph.Roll(x, 3, 0).Sub(graph.Roll(x, -8, 0)).Mul(graph.Roll(x, 4095, 0))
		}, graph.TargetCPUKernels, 1},
		{"too far", []int{4096}, func(x *graph.Array) *graph.Array {
			return graph.Roll(x, 9,
				0).Sub(graph.Roll(x, -9, 0))
		},
			graph.TargetCPUKernels, 2},
		{"only one roll", []int{64, 64}, func(x *graph.Array) *graph.Array { return x.Sub(graph.Roll(x, 1, 1)) },
			graph.TargetCPUKernels, 1},
		{"twice along one axis", []int{64, 64}, func(x *graph.Array) *graph.Array {
			once := graph.Roll(x, 1, 0)
			return once.Mul(2).Add(graph.Roll(x, -1, 0)).Sub(graph.Roll(once, 1, 0)).Mul(graph.Roll(once, -2, 0))
		}, graph.TargetCPUKernels, 2},
		{"other concatenations", []int{64, 64}, func(x *graph.Array) *graph.Array {
			twice := graph.Concatenate(0, graph.SliceAxis(x, 0, 1, 64),
				graph.SliceAxis(x, 0, 0, 2)) // the second row twice
			other := graph.Concatenate(0, graph.SliceAxis(x, 0, 1, 64), graph.SliceAxis(x.Mul(2), 0, 0, 1))
			return graph.SliceAxis(twice, 0, 0, 64).Sub(other)
		}, graph.TargetCPUKernels, 2},
		{"several batches", []int{2, 48, 48}, func(x *graph.Array) *graph.Array { return graph.VMap(neighbors)(x) },
			graph.TargetCPUKernels, 2},
	} {
		p, err := graph.Trace("rolls", c.f, graph.Abstract(graph.ShapeOf(graph.Float32, c.dims...)))
		require.NoError(t, err, c.name)
		l, err := Lower(p, c.target)
		require.NoError(t, err, c.name)
		count := 0
		l.Graph.Any(func(n *graph.Node) bool {
			if n.Op.Name == "concatenate" {
				count++
			}
			return false
		})
		require.Equal(t, c.concatenations, count, c.name)
		x := newTensor(p.Inputs[0])
		for k := range x.V {
			x.SetF(k, float64(k*37%101))
		}
		want, err := graph.Interpret(p.Graph, []*graph.Tensor{x}, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, interpretLowered(t, c.target, p, x)[0].V, c.name)
	}
}
