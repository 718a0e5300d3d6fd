package xlabridge

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
)

// interpretedAndCompiled returns f by the reference interpreter, and compiled.
func interpretedAndCompiled(c *Client, f func(in []*array) [][]*array) [2]func(in []*array) ([][]*array, error) {
	return [2]func(in []*array) ([][]*array, error){Jit(&Reference{}, f), Jit(c, f)}
}

// Compiled maxima and minima of floats have NaN where an element is NaN, and else the element, ±Inf
// included: small and large arrays, each axis and all, in a loop and in VMap.
func TestReducedExtremesKeepNaN(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	scanned := func(x *array) *array {
		y, _ := graph.Scan(func(c, _ *array) (*array, graph.None) {
			return graph.Add(c, graph.ReduceMax(graph.Add(x, c))), graph.None{}
		}, graph.Scalar(0), graph.Iota(2))
		return y
	}
	type kind struct {
		dtype graph.DType
		dims  []int
	}
	kinds := []kind{
		{graph.Float32, []int{3, 5}}, {graph.Float32, []int{41, 1001}},
		{graph.Float32, []int{8, 70, 70}}, {graph.BFloat16, []int{300, 130}},
		{graph.Float64, []int{300, 130}},
	}
	if long.On() {
		kinds = append(kinds, kind{graph.Float32, []int{300, 31}}, kind{graph.Float16, []int{300, 130}})
	}
	for some := range slices.Chunk(kinds, 3) {
		both := interpretedAndCompiled(c, func(in []*array) (all [][]*array) {
			for _, x := range in {
				last := x.Rank() - 1
				out := []*array{graph.ReduceMax(x), graph.ReduceMin(x), graph.ReduceMax(x, 0), graph.ReduceMin(x, 0),
					graph.ReduceMax(x, last), graph.ReduceMin(x, last),
					graph.VMap(func(x *array) *array { return graph.ReduceMin(x, 0) })(x)}
				if x.DType() == graph.Float32 {
					out = append(out, scanned(x))
				}
				all = append(all, out)
			}
			return all
		})
		for j, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
			var in []*array
			for _, s := range some {
				size := graph.ShapeOf(s.dtype, s.dims...).Size()
				at := graph.Reshape(graph.Iota(size), s.dims...)
				x := graph.Convert(graph.Sin(graph.Convert(at, graph.Float32)), s.dtype)
				if odd == 0 {
					x = graph.Mul(x, 0)
				}
				in = append(in, graph.Select(graph.Eq(at, size-1-j), odd, x))
			}
			want, err := both[0](in)
			require.NoError(t, err)
			got, err := both[1](in)
			require.NoError(t, err)
			for i, s := range some {
				for k := range got[i] {
					w := floats(t, graph.Convert(want[i][k], graph.Float64))
					g := floats(t, graph.Convert(got[i][k], graph.Float64))
					name := fmt.Sprintf("%s %v, result %d", s.dtype, s.dims, k)
					require.Len(t, g, len(w), name)
					for m := range w {
						if math.IsNaN(w[m]) {
							require.True(t, math.IsNaN(g[m]), "%s, element %d: %v", name, m, g[m])
						} else {
							require.Equal(t, w[m], g[m], "%s, element %d", name, m)
						}
					}
				}
			}
		}
	}
}

// What takes the fast maximum, which may lose NaN, has NaN where the interpreter has it, and finds it first.
func TestFastExtremesBringNaNBack(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	isNaN := func(y *array) *array { return graph.Convert(graph.IsNaN(y), graph.Int32) }
	for some := range slices.Chunk([][]int{{3, 5}, {300, 31}, {41, 1001}, {2, 70, 70}}, 2) {
		both := interpretedAndCompiled(c, func(in []*array) (all [][]*array) {
			for _, x := range in {
				last := x.Rank() - 1
				all = append(all, []*array{isNaN(graph.Softmax(x, last)), isNaN(graph.Softmax(x, 0)),
					isNaN(graph.LogSoftmax(x, last)), isNaN(graph.LogSumExp(x, last)),
					isNaN(graph.LogSumExp(x, 0)), isNaN(graph.LogSumExp(x)),
					graph.ArgMax(x, last), graph.ArgMin(x, 0)})
			}
			return all
		})
		for j, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			var in []*array
			for _, dims := range some {
				size := graph.ShapeOf(graph.Float32, dims...).Size()
				at := graph.Reshape(graph.Iota(size), dims...)
				in = append(in, graph.Select(graph.Eq(at, size/2+j), odd, graph.Sin(graph.Convert(at, graph.Float32))))
			}
			want, err := both[0](in)
			require.NoError(t, err)
			got, err := both[1](in)
			require.NoError(t, err)
			for i, dims := range some {
				for k := range got[i] {
					require.Equal(t, floats(t, graph.Convert(want[i][k], graph.Float64)),
						floats(t, graph.Convert(got[i][k], graph.Float64)), "%v, %g, result %d", dims, odd, k)
				}
			}
		}
	}
}
