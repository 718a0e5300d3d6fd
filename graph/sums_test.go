package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/stats"
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
			got, err := xlabridge.Jit(&xlabridge.Reference{}, func(graph.None) *graph.Array {
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

// Equal elements have no variance, whatever their mean rounds to. A large common part costs no digits.
func TestVarianceOfEqualElements(t *testing.T) {
	number := func(x *graph.Array) float64 { return graphtest.Floats(t, x)[0] }
	for _, n := range []int{1, 3, 5, 6, 7, 100} {
		for _, v := range []float64{.1, 1000.1, 1e6 + 1, 1e30} {
			x := graph.Full(graph.ShapeOf(graph.Float32, 1, n), v)
			with := graph.Concatenate(1, graph.Full(graph.ShapeOf(graph.Float32, 1, 2), 7), x)
			all := []*graph.Array{graph.Variance(x), graph.Std(x, 1), stats.Cov(x, 0), graph.Reduction{}.Variance(x),
				graph.Reduction{Where: with.Ne(7)}.Std(with), graph.Variance(graph.Complex(x, x))}
			for i, got := range all {
				require.Zero(t, number(got), "%d of %d of %v", i, n, v)
			}
		}
	}
	x := graph.Iota(9).Rem(3).Convert(graph.Float32).Div(16).Add(1e6) // 0, 1/16 and 2/16 above a million
	const want = 2. / 3 / 256
	require.InEpsilon(t, want, number(graph.Variance(x)), 1e-6)
	require.InEpsilon(t, want, number(graph.Reduction{Where: x.Gt(0)}.Variance(x)), 1e-6)
	require.InEpsilon(t, want, number(stats.Cov(x.Reshape(1, 9), 0)), 1e-6)
	for _, huge := range [][]float32{{2e38, -2e38, 0, 0}, {0, 2e38, -2e38, 0}} { // the squares overflow, as in NumPy
		x := graph.Float32s(huge)
		require.Equal(t, math.Inf(1), number(graph.Variance(x)))
		require.Equal(t, math.Inf(1), number(graph.Reduction{Where: x.Ne(7)}.Variance(x)))
	}
	require.True(t, math.IsNaN(number(graph.Variance(graph.Float32s([]float32{1, float32(math.Inf(1))})))))
}
