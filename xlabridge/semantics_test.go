package xlabridge

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
)

// Values and slopes at places where they were wrong, compiled and interpreted. The numbers are JAX 0.10.2's.
func TestSlopesAtTheEdges(t *testing.T) {
	c := open(t, Options{Devices: 1})
	nan, inf := math.NaN(), math.Inf(1)
	slope := func(f func(x *array) *array) func(x *array) *array {
		return graph.Grad(func(x *array) *array { return f(x).Sum().Convert(graph.Float32) })
	}
	power := func(n int) func(x *array) *array {
		return slope(func(x *array) *array { return graph.Pow(x, n) })
	}
	edges := graph.Float32s([]float32{1e-7, 1e20, 0})
	long := graph.Full(graph.ShapeOf(graph.BFloat16, 2000), 1).Mul(graph.Linspace(.9960938, 1.0078125, 2000).
		Convert(graph.BFloat16))
	narrow := func(d graph.DType) *array { return graph.Of([]int32{1, 3}).Convert(d) }
	logSumExp := func(x *array) *array { return graph.LogSumExp(x) }
	cases := []struct {
		number int
		f      func(x *array) *array
		in     *array
		want   []float64
		within float64 // relative
	}{
		{1, power(-1), edges, []float64{-1e14, 0, -inf}, 1e-5},
		{2, power(-2), edges, []float64{-2e21, 0, -inf}, 1e-5},
		{3, power(-3), edges, []float64{-3e28, 0, -inf}, 1e-5},
		{4, slope(func(x *array) *array { return graph.ReduceMax(x) }), graph.Float32s([]float32{1, float32(nan), 3}),
			[]float64{nan, nan, nan}, 0},
		{5, slope(func(x *array) *array { return graph.ReduceMin(x) }), graph.Float32s([]float32{1, 1, 3}),
			[]float64{.5, .5, 0}, 0},
		{6, logSumExp, narrow(graph.Uint8), []float64{3.126928}, 1e-6},
		{7, logSumExp, narrow(graph.Uint32), []float64{3.126928}, 1e-6},
		{8, logSumExp, graph.Of([]int32{-100, 100}).Convert(graph.Int8), []float64{100}, 1e-6},
		{9, func(x *array) *array { return graph.Softmax(x, 0) }, narrow(graph.Uint8),
			[]float64{.1192029, .8807971}, 1e-6},
		{10, func(x *array) *array { return graph.LogSoftmax(x, 0) }, narrow(graph.Uint8),
			[]float64{-2.126928, -.126928}, 1e-5},
		{11, func(x *array) *array { return graph.Trigamma(x) }, graph.Full(graph.ShapeOf(graph.Float16), .23),
			[]float64{20.131}, 2e-3},
		{13, func(x *array) *array { return graph.LogicalAnd(x, 2).Convert(graph.Int32) },
			graph.Of([]int32{0, 1, 4}), []float64{0, 1, 1}, 0},
		{14, func(x *array) *array { return graph.LogicalNot(x).Convert(graph.Int32) },
			graph.Float32s([]float32{0, .5, float32(nan)}), []float64{1, 0, 0}, 0},
		{15, func(x *array) *array { return graph.Dot(x.Reshape(2, 3), graph.Iota(12).Reshape(2, 3, 2)).Index(1) },
			graph.Of([]int32{0, 1, 2, 3, 4, 5}), []float64{28, 40, 100, 112}, 0},
		{16, func(x *array) *array { return graph.Flatten1D(graph.Outer(x.Reshape(1, 2), x.Reshape(2, 1))) },
			graph.Of([]int32{2, 3}), []float64{4, 6, 6, 9}, 0},
	}
	var calls []sample
	for _, x := range cases {
		calls = append(calls, sample{"", func(in []*array) []*array { return []*array{x.f(in[0])} }, []*array{x.in}})
	}
	all := together(t, c, calls)
	for n, x := range cases {
		want := graphtest.Floats(t, graph.Of(x.want))
		interpreted, err := graph.Eval(x.f(x.in))
		require.NoError(t, err)
		for _, a := range []*array{all[n][0], interpreted} {
			got := graphtest.Floats(t, a)
			require.Len(t, got, len(want))
			for i, w := range want {
				if math.IsNaN(w) || math.IsInf(w, 0) || w == 0 {
					require.Equal(t, w == w, got[i] == got[i], "case %d: %v", x.number, got)
					require.True(t, w != w || w == got[i], "case %d: %v", x.number, got)
					continue
				}
				require.InEpsilon(t, w, got[i], x.within+1e-9, "case %d: %v", x.number, got)
			}
		}
	}

	// 12: the gradient of a product of many 16-bit numbers. Its running products were rounded in each step.
	product := slope(func(x *array) *array { return graph.Prod(x) })
	compiled, err := Jit(c, product)(long)
	require.NoError(t, err)
	got := graphtest.Floats(t, compiled)
	numbers := graphtest.Floats(t, long)
	whole := 1.
	for _, x := range numbers {
		whole *= x
	}
	for i, x := range numbers {
		require.InEpsilon(t, whole/x, got[i], .01, "element %d", i)
	}
}

// Mistakes that were made without a word, or with a panic from the inside of the library.
func TestConstantsThatDoNotFit(t *testing.T) {
	for i, c := range []struct {
		f    func() *array
		want string
	}{
		{func() *array { return graph.Linspace(0, 1, -1) }, "got -1 numbers; want from 0 to 16777216"},
		{func() *array { return graph.Full(graph.ShapeOf(graph.Int8), 300) }, "300 is no value of i8"},
		{func() *array { return graph.Full(graph.ShapeOf(graph.Uint32), -1) }, "-1 is no value of u32"},
		{func() *array { return graph.Of([]uint8{1}).Convert(graph.Uint8).Add(256) }, "256 is no value of u8"},
	} {
		require.ErrorContains(t, graph.Try(func() { c.f() }), c.want, "case %d", i+1)
	}
}
