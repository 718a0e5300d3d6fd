package graph

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A loop that is one function has the same turns when it counts them. A loop whose first integer was the
// largest one did nothing in its turns, and so had no end.
func TestCountedTurns(t *testing.T) {
	type inputs struct{ Start, Counter *Array }
	p, err := Trace("turns", func(in inputs) [2]*Array {
		return While(func(s [2]*Array) *Array {
			return Lt(s[1], 3)
		}, func(s [2]*Array) [2]*Array {
			return [2]*Array{Add(Counted(in.Counter, s[0]), 1), Add(s[1], 1)}
		}, [2]*Array{in.Start, Scalar(0)})
	}, inputs{Of(int32(0)), Of(int32(0))})
	require.NoError(t, err)
	l, err := Lower(p, TargetCPUKernels)
	require.NoError(t, err)
	for _, start := range []int32{math.MinInt32, -1, 0, 1, math.MaxInt32 - 2, math.MaxInt32 - 1, math.MaxInt32} {
		counted, nodes := 0, 0
		in := []*Tensor{newTensor(Shape{DType: Int32}), newTensor(Shape{DType: Int32})}
		in[0].SetI(0, int64(start))
		out, err := Interpret(l.Graph, in, func(n *Node, _, _ []*Tensor) error {
			if a, ok := n.Attrs.(customCallAttrs); ok && a.kernel == countKernel {
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
