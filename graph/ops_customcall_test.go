package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Calls of one kernel with equal numbers and inputs are one call; of others they are not.
func TestEqualKernelsMerge(t *testing.T) {
	kernel := func(target string) *Kernel {
		return &Kernel{Target: target, Eval: func(in, out []*Tensor) { copy(out[0].V, in[0].V) }}
	}
	p, err := Trace("calls", func(x *Array) []*Array {
		s := []Shape{x.Shape()}
		return []*Array{CustomCall(kernel("a"), s, x)[0], CustomCall(kernel("a"), s, x)[0],
			CustomCall(kernel("b"), s, x)[0],
			kernelCall(kernel("a"), []int{1}, s, x)[0], kernelCall(kernel("a"), []int{2}, s, x)[0]}
	}, Abstract(ShapeOf(Float32, 3)))
	require.NoError(t, err)
	require.Equal(t, 4, p.Graph.Count(), p.Graph.String())
	require.Same(t, p.Graph.Results[0], p.Graph.Results[1])
}
