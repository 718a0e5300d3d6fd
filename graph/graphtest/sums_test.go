package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/stats"
	"xlarun/xlabridge"
)

// The reference interpreter keeps the digits of long sums and products of float32. What is infinite in float32, or a
// product that is 0 there, stays so.
func TestLongSumsOfTheReference(t *testing.T) {
	const n = 1 << 20
	x := Full(ShapeOf(Float32, n), .1)
	tenth := float64(float32(.1))
	zeros := Full(ShapeOf(Int32, n), 0)
	one := Float32s([]float32{0})
	grown := Full(ShapeOf(Float32, n), 1+0x1p-23)
	back := Float32s([]float32{3e38, 3e38, -3e38})
	small := Float32s([]float32{1e-30, 1e-30, 1e30})
	for _, c := range []struct {
		name string
		f    func() *Array
		want float64
	}{
		{"sum", func() *Array { return Sum(x) }, n * tenth},
		{"running sum", func() *Array { return Index(CumSum(x, 0), -1) }, n * tenth},
		{"mean", func() *Array { return Mean(x) }, tenth},
		{"scatter", func() *Array { return Index(ScatterAdd(one, zeros, x), 0) }, n * tenth},
		{"half", func() *Array { return Mean(Convert(x, BFloat16)) }, .10009765625},
		{"product", func() *Array { return Prod(grown) }, math.Exp(n * math.Log1p(0x1p-23))},
		{"complex", func() *Array { return Real(Sum(Complex(x, x))) }, n * tenth},
		{"beyond the range", func() *Array { return Sum(back) }, math.Inf(1)},
		{"below the range", func() *Array { return Prod(small) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := xlabridge.Jit(&xlabridge.Reference{}, func(None) *Array { return c.f() })(None{})
			require.NoError(t, err)
			values := graphtest.Floats(t, got)
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
	number := func(x *Array) float64 { return graphtest.Floats(t, x)[0] }
	for _, n := range []int{1, 3, 5, 6, 7, 100} {
		for _, v := range []float64{.1, 1000.1, 1e6 + 1, 1e30} {
			x := Full(ShapeOf(Float32, 1, n), v)
			with := Concatenate(1, Full(ShapeOf(Float32, 1, 2), 7), x)
			all := []*Array{Variance(x), Std(x, 1), stats.Cov(x, 0), Reduction{}.Variance(x),
				Reduction{Where: with.Ne(7)}.Std(with), Variance(Complex(x, x))}
			for i, got := range all {
				require.Zero(t, number(got), "%d of %d of %v", i, n, v)
			}
		}
	}
	x := Iota(9).Rem(3).Convert(Float32).Div(16).Add(1e6) // 0, 1/16 and 2/16 above a million
	const want = 2. / 3 / 256
	require.InEpsilon(t, want, number(Variance(x)), 1e-6)
	require.InEpsilon(t, want, number(Reduction{Where: x.Gt(0)}.Variance(x)), 1e-6)
	require.InEpsilon(t, want, number(stats.Cov(x.Reshape(1, 9), 0)), 1e-6)
	for _, huge := range [][]float32{{2e38, -2e38, 0, 0}, {0, 2e38, -2e38, 0}} { // the squares overflow, as in NumPy
		x := Float32s(huge)
		require.Equal(t, math.Inf(1), number(Variance(x)))
		require.Equal(t, math.Inf(1), number(Reduction{Where: x.Ne(7)}.Variance(x)))
	}
	require.True(t, math.IsNaN(number(Variance(Float32s([]float32{1, float32(math.Inf(1))})))))
}
