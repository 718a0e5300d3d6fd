package lower

import (
	"strings"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

func TestDump(t *testing.T) {
	f := func(x *graph.Array) *graph.Array {
		dead := graph.Exp(x)
		_ = dead
		x = graph.Add(x, graph.Convert(graph.Iota(3), graph.Float32))
		return graph.Sum(graph.VMap(graph.Grad(func(v *graph.Array) *graph.Array {
			return graph.Add(graph.Sin(v),
				graph.Sin(v))
		}))(x))
	}
	p, err := graph.Trace("count", f, graph.Abstract(graph.ShapeOf(graph.Float32, 3)))
	require.NoError(t, err)
	dump := func(phase string) string {
		var b strings.Builder
		require.NoError(t, Dump(&b, p, phase, graph.TargetCPU))
		return b.String()
	}
	traced, simple, hlo := dump(Traced), dump(Simplified), dump(StableHLO)
	require.Contains(t, traced, "= exp ")
	require.Contains(t, traced, "// dump_test.go:")
	require.Contains(t, traced, "iota{axis:0}")
	require.Contains(t, traced, "convert{to:f32}", "dtypes have names")
	require.NotContains(t, simple, "= exp ")
	require.Equal(t, 1, strings.Count(simple, "= cos "), simple)
	require.Greater(t, strings.Count(traced, "= cos "), 1, traced)
	require.Contains(t, hlo, "stablehlo.cosine")
	require.ErrorContains(t, Dump(&strings.Builder{}, p, "nothing", graph.TargetCPU), "traced")

	total := 0
	for _, c := range Ops(p.Graph) {
		total += c.Count
	}
	require.Equal(t, p.Graph.Count(), total)
}
