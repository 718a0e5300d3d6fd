package lower

import (
	"errors"
	"math"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A loop that is one function has the same iterations when it counts them. A loop whose first integer was the
// largest one did nothing in its iterations, and so had no end.
func TestCountedIterations(t *testing.T) {
	type inputs struct{ Start, Counter *graph.Array }
	p, err := graph.Trace("trip_count", func(in inputs) [2]*graph.Array {
		return graph.While(func(s [2]*graph.Array) *graph.Array {
			return graph.Lt(s[1], 3)
		}, func(s [2]*graph.Array) [2]*graph.Array {
			return [2]*graph.Array{graph.Add(graph.Counted(in.Counter, s[0]), 1), graph.Add(s[1], 1)}
		}, [2]*graph.Array{in.Start, graph.Scalar(0)})
	}, inputs{graph.Of(int32(0)), graph.Of(int32(0))})
	require.NoError(t, err)
	l, err := Lower(p, graph.TargetCPUKernels)
	require.NoError(t, err)
	for _, start := range []int32{math.MinInt32, -1, 0, 1, math.MaxInt32 - 2, math.MaxInt32 - 1, math.MaxInt32} {
		counted, nodes := 0, 0
		in := []*graph.Tensor{newTensor(graph.Shape{DType: graph.Int32}), newTensor(graph.Shape{DType: graph.Int32})}
		in[0].SetI(0, int64(start))
		out, err := graph.Interpret(l.Graph, in, func(n *graph.Node, _, _ []*graph.Tensor) error {
			if n.Kernel() == countKernel {
				counted++
			}
			if nodes++; nodes > 1000 {
				return errors.New("the loop has no end")
			}
			return nil
		})
		require.NoError(t, err, "from %d", start)
		require.Equal(t, 3, counted, "from %d", start)
		require.Equal(t, int64(start+3), out[0].I(0), "from %d", start)
	}
}
