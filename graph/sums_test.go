package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// The reference interpreter keeps the digits of long sums and products of float32. What is infinite in float32, or a
// product that is 0 there, stays so.
func TestLongSumsOfTheReference(t *testing.T) {
	const n = 1 << 20
	x := graph.Full(graph.ShapeOf(graph.Float32, n), .1)
	tenth := float64(float32(.1))
	zeros := graph.Full(graph.ShapeOf(graph.Int32, n), 0)
	one := graph.Float32s([]float32{0})
	grown := graph.Full(graph.ShapeOf(graph.Float32, n), 1+0x1p-23)
	back := graph.Float32s([]float32{3e38, 3e38, -3e38})
	small := graph.Float32s([]float32{1e-30, 1e-30, 1e30})
	for _, c := range []struct {
		name string
		f    func() *graph.Array
		want float64
	}{
		{"sum", func() *graph.Array { return graph.Sum(x) }, n * tenth},
		{"running sum", func() *graph.Array { return graph.Index(graph.CumSum(x, 0), -1) }, n * tenth},
		{"mean", func() *graph.Array { return graph.Mean(x) }, tenth},
		{"scatter", func() *graph.Array { return graph.Index(graph.ScatterAdd(one, zeros, x), 0) }, n * tenth},
		{"half", func() *graph.Array { return graph.Mean(graph.Convert(x, graph.BFloat16)) }, .10009765625},
		{"product", func() *graph.Array { return graph.Prod(grown) }, math.Exp(n * math.Log1p(0x1p-23))},
		{"complex", func() *graph.Array { return graph.Real(graph.Sum(graph.Complex(x, x))) }, n * tenth},
		{"beyond the range", func() *graph.Array { return graph.Sum(back) }, math.Inf(1)},
		{"below the range", func() *graph.Array { return graph.Prod(small) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := xlabridge.Jit1(&xlabridge.Reference{}, func(graph.None) *graph.Array {
				return c.f()
			})(graph.None{})
			require.NoError(t, err)
			values, err := graph.Floats(got)
			require.NoError(t, err)
			if math.IsInf(c.want, 0) || c.want == 0 {
				require.Equal(t, c.want, values[0])
			} else {
				require.InEpsilon(t, c.want, values[0], 2e-7)
			}
		})
	}
}
