package graph

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDump(t *testing.T) {
	f := func(x *Array) *Array {
		dead := Exp(x)
		_ = dead
		x = Add(x, Convert(Iota(3), Float32))
		return Sum(VMap(Grad(func(v *Array) *Array { return Add(Sin(v), Sin(v)) }))(x))
	}
	p, err := Trace("count", f, Abstract(ShapeOf(Float32, 3)))
	require.NoError(t, err)
	dump := func(phase string) string {
		var b strings.Builder
		require.NoError(t, Dump(&b, p, phase, TargetCPU))
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
	require.ErrorContains(t, Dump(&strings.Builder{}, p, "nothing", TargetCPU), "traced")

	total := 0
	for _, c := range Ops(p.Graph) {
		total += c.Count
	}
	require.Equal(t, p.Graph.Count(), total)
}
