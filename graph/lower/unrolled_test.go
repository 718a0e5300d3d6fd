package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// On accelerators a short scan in the step of another one is written without a loop, with the same results.
func TestShortLoopsInLoops(t *testing.T) {
	f := func(length int) *graph.Program {
		p, err := graph.Trace("substeps", func(x *graph.Array) *graph.Array {
			last, _ := graph.Scan(func(x *graph.Array, _ graph.None) (*graph.Array, graph.None) {
				x, _ = graph.Scan(func(x *graph.Array, _ graph.None) (*graph.Array, graph.None) {
					return graph.Mul(x, .5).Add(graph.Sin(x)), graph.None{}
				}, x, graph.None{},
					graph.Length(length))
				return x, graph.None{}
			}, x, graph.None{}, graph.Length(40))
			return last
		}, graph.Abstract(graph.ShapeOf(graph.Float32, 3)))
		require.NoError(t, err)
		return p
	}
	x := tensorOf(t, graph.Float32s([]float32{-1, .5, 2}))
	for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
		require.Equal(t, 1, opsOf(t, target, f(8))["while"], "%s", target)
		require.Equal(t, 2, opsOf(t, target, f(mostUnrolledSteps*8))["while"], "a long one, %s", target)
		require.Equal(t, interpretLowered(t, graph.TargetCPU, f(8), x)[0].V, interpretLowered(t, target, f(8), x)[0].V)
	}
	require.Equal(t, 2, opsOf(t, graph.TargetCPU, f(8))["while"], "a CPU keeps the loop")
}
