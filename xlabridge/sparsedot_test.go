package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// TestSparseDotOfManyInputs: the kernel finds the inputs that are not zero in blocks of 1024. 131 results are several
// vectors and some numbers.
func TestSparseDotOfManyInputs(t *testing.T) {
	const in, out = 1500, 131
	product := func(x, w *graph.Array) *graph.Array {
		return graph.Concatenate(0, graph.SparseDot(x, w), graph.SparseDot(graph.Gt(x, .5), w))
	}
	wave := func(dims ...int) *graph.Array {
		n := 1
		for _, d := range dims {
			n *= d
		}
		return graph.Reshape(graph.Sin(graph.Mul(graph.Iota(n).Convert(graph.Float32), 1.7)), dims...)
	}
	x, w := graph.Max(wave(2, in), 0), wave(in, out)
	got, err := Jit2(open(t, Options{}), product)(x, w)
	require.NoError(t, err)
	want, err := Jit2(&Reference{}, product)(x, w)
	require.NoError(t, err)
	require.InDeltaSlice(t, floats(t, want), floats(t, got), 1e-3)
}
