package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Kernels are called on every device, from the cache too, and are refused in words where they do not fit.
func TestKernels(t *testing.T) {
	reverse := &graph.Kernel{Target: "xlarun_reverse", Eval: func(in, out []*graph.Tensor) {}}
	call := func(k *graph.Kernel, s graph.Shape) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array { return graph.CustomCall(k, []graph.Shape{s}, x)[0] }
	}
	dir := t.TempDir()
	x := graph.Float32s([]float32{1, 2, 3})
	for range 2 { // compiled, then loaded
		c := open(t, Options{CacheDir: dir})
		require.True(t, c.HasKernels())
		got, err := Jit(c, call(reverse, x.Shape()))(x)
		require.NoError(t, err)
		v := floats(t, got)
		require.Equal(t, []float64{3, 2, 1}, v)
	}
	c := open(t, Options{})
	_, err := Jit(c, call(reverse, graph.ShapeOf(graph.Float32, 4)))(x)
	require.ErrorContains(t, err, "xlarun_reverse takes f32[n] and gives f32[n]")
	_, err = Jit(c, call(&graph.Kernel{Target: "xlarun_nobody", Eval: reverse.Eval}, x.Shape()))(x)
	require.ErrorContains(t, err, "xlarun_nobody")
}
