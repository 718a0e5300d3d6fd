package xlabridge

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
)

// Results that were wrong on XLA equal those of the reference interpreter. A number is never used again.
func TestRegressionsOnXLA(t *testing.T) {
	client := open(t, Options{})
	wave := func(dims ...int) *graph.Array {
		return graph.Sin(graph.Convert(graph.Reshape(graph.Iota(graph.ShapeOf(graph.Float32, dims...).Size()), dims...),
			graph.Float32))
	}
	// conv gives the gradients, by both operands, of what a convolution adds up to under weights.
	conv := func(x, kernel []int, opts ...graph.WindowOption) func() []*graph.Array {
		return func() []*graph.Array {
			dx, dk := graph.Grads2(func(x, k *graph.Array) *graph.Array {
				y := graph.Conv(x, k, opts...)
				return graph.Sum(graph.Mul(y, wave(y.Dims()...)))
			})(wave(x...), wave(kernel...))
			return []*graph.Array{dx, dk}
		}
	}
	cases := []struct {
		number int
		what   string
		f      func() []*graph.Array
	}{
		{1, "a convolution with as much padding as its kernel is long", conv([]int{2, 4}, []int{3, 4, 6},
			graph.Padding([2]int{3, 1}))},
		{2, "more padding", conv([]int{2, 4}, []int{3, 4, 6}, graph.Padding([2]int{5, 0}))},
		{3, "more rows", conv([]int{7, 4}, []int{3, 4, 6}, graph.Padding([2]int{0, 5}))},
		{4, "strides", conv([]int{2, 7, 4}, []int{3, 4, 6}, graph.Padding([2]int{4, 3}), graph.Strides(2))},
		{5, "two spatial axes", conv([]int{5, 4, 3}, []int{2, 3, 3, 8}, graph.Padding([2]int{2, 0}, [2]int{1, 4}))},
		{6, "both dilations, strides", conv([]int{2, 5, 4, 3}, []int{2, 3, 3, 4},
			graph.Padding([2]int{4, 1}, [2]int{0, 6}), graph.Strides(2, 3), graph.WindowDilation(2, 1),
			graph.BaseDilation(1, 3))},
		{7, "feature groups, depthwise", conv([]int{4, 6}, []int{2, 1, 6}, graph.Padding([2]int{3, 3}),
			graph.FeatureGroups(6))},
		{8, "one element, a lot of padding", conv([]int{1, 4}, []int{2, 4, 4}, graph.Padding([2]int{7, 9}))},
		{9, "padding that cuts", conv([]int{2, 9, 4}, []int{3, 4, 6}, graph.Padding([2]int{-2, -3}))},
		{10, "padding that cuts between holes", conv([]int{2, 9, 4}, []int{2, 4, 6}, graph.Padding([2]int{-4, 5}),
			graph.BaseDilation(3), graph.Strides(2))},
		{11, "in a loop, mapped", func() []*graph.Array {
			return graph.VMap(func(x *graph.Array) []*graph.Array {
				end, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
					return graph.Grad(func(c *graph.Array) *graph.Array {
						return graph.Sum(graph.Sin(graph.Conv(c, wave(3, 4, 4), graph.Padding([2]int{5, 0}))))
					})(c), graph.None{}
				}, x, graph.None{}, graph.Length(2))
				return []*graph.Array{end}
			})(wave(3, 2, 4))
		}},
		{12, "digamma at its poles, in every float", func() []*graph.Array {
			var all []*graph.Array
			for _, d := range []graph.DType{graph.Float32, graph.Float64, graph.BFloat16, graph.Float16} {
				x := graph.Float32s([]float32{0, float32(math.Copysign(0, -1)), -1, -2, -7, float32(math.Inf(-1)),
					float32(math.Inf(1)), float32(math.NaN()), 1})
				all = append(all, graph.Digamma(graph.Convert(x, d)))
			}
			return all
		}},
	}
	var calls []sample
	for _, c := range cases {
		calls = append(calls, sample{c.what, func([]*array) []*array { return c.f() }, nil})
	}
	wanted, results := together(t, &Reference{}, calls), together(t, client, calls)
	for n, c := range cases {
		want, got := wanted[n], results[n]
		for i := range want {
			w := graphtest.Floats(t, want[i])
			g := graphtest.Floats(t, got[i])
			for k := range w {
				if math.IsNaN(w[k]) {
					require.True(t, math.IsNaN(g[k]), "%d: %s: result %d is %v, want %v", c.number, c.what, i, g, w)
				} else if w[k] != g[k] {
					require.InDelta(t, w[k], g[k], 1e-4*(1+math.Abs(w[k])), "%d: %s: result %d is %v, want %v",
						c.number, c.what, i, g, w)
				}
			}
		}
	}
}
