package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// A function that is traced late is not traced for programs that call the kernel; for others and on the reference
// interpreter it is what WithKernel has, also under two axes of VMap, with an input that they share.
func TestLateFunctionsOfKernels(t *testing.T) {
	kernel := &graph.Kernel{Target: "any", Shared: 1}
	traced := 0
	f := func(in []*graph.Array) []*graph.Array {
		traced++
		return []*graph.Array{graph.CumSum(graph.Add(graph.Mul(in[0], in[0]), in[1]), 0), graph.Sum(in[0])}
	}
	outs := []graph.Shape{graph.ShapeOf(graph.Float32, 3), graph.ShapeOf(graph.Float32)}
	lanes := func(call func(x, y *graph.Array) []*graph.Array) func(x, y *graph.Array) []*graph.Array {
		axes := graph.InAxes(0, graph.Unmapped)
		return graph.VMap2(graph.VMap2(call, axes), axes)
	}
	late := lanes(func(x, y *graph.Array) []*graph.Array { return graph.WithKernelLate(kernel, outs, 10, f, x, y) })
	soon := lanes(func(x, y *graph.Array) []*graph.Array { return graph.WithKernel(kernel, f, x, y) })
	x := graph.Convert(graph.Reshape(graph.Arange(0, 24, 1), 2, 4, 3), graph.Float32)
	y := graph.Of([]float32{1, 2, 3})
	p, err := graph.Trace2("calls", late, graph.Abstract(x.Shape()), graph.Abstract(y.Shape()))
	require.NoError(t, err)
	require.Equal(t, 80., p.Graph.Cost(nil).FLOPs)
	program := func(f func(x, y *graph.Array) []*graph.Array, target graph.Target) string {
		p, err := graph.Trace2("calls", f, graph.Abstract(x.Shape()), graph.Abstract(y.Shape()))
		require.NoError(t, err)
		l, err := Lower(p, target)
		require.NoError(t, err)
		return l.StableHLO
	}
	with := program(late, graph.TargetCPUKernels)
	require.Zero(t, traced)
	require.Equal(t, program(soon, graph.TargetCPUKernels), with)
	require.Equal(t, program(soon, graph.TargetCUDA), program(late, graph.TargetCUDA))
	for i, want := range soon(x, y) {
		wants, err := graph.Floats(want)
		require.NoError(t, err)
		got, err := graph.Floats(late(x, y)[i])
		require.NoError(t, err)
		require.Equal(t, wants, got)
	}
}
