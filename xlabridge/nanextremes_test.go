package xlabridge

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// interpretedAndCompiled returns f by the reference interpreter, and compiled.
func interpretedAndCompiled(c *Client, f func(x *array) []*array) [2]func(x *array) ([]*array, error) {
	return [2]func(x *array) ([]*array, error){Jit1(&Reference{}, f), Jit1(c, f)}
}

// Compiled maxima and minima of floats have NaN where an element is NaN, and else the element, ±Inf
// included: small and large arrays, each axis and all, in a loop and in VMap.
func TestReducedExtremesKeepNaN(t *testing.T) {
	c := open(t, Options{})
	scanned := func(x *array) *array {
		y, _ := graph.Scan(func(c, _ *array) (*array, graph.None) {
			return graph.Add(c, graph.ReduceMax(graph.Add(x, c))), graph.None{}
		}, graph.Scalar(0), graph.Iota(2))
		return y
	}
	for i, s := range []struct {
		dtype graph.DType
		dims  []int
	}{
		{graph.Float32, []int{3, 5}}, {graph.Float32, []int{300, 31}}, {graph.Float32, []int{41, 1001}},
		{graph.Float32, []int{8, 70, 70}}, {graph.Float64, []int{300, 130}}, {graph.BFloat16, []int{300, 130}},
		{graph.Float16, []int{300, 130}},
	} {
		name := fmt.Sprintf("28.%d %s %v", 400+i, s.dtype, s.dims)
		size := graph.ShapeOf(s.dtype, s.dims...).Size()
		at := graph.Reshape(graph.Iota(size), s.dims...)
		both := interpretedAndCompiled(c, func(x *array) []*array {
			last := len(s.dims) - 1
			out := []*array{graph.ReduceMax(x), graph.ReduceMin(x), graph.ReduceMax(x, 0), graph.ReduceMin(x, 0),
				graph.ReduceMax(x, last), graph.ReduceMin(x, last),
				graph.VMap(func(x *array) *array { return graph.ReduceMin(x, 0) })(x)}
			if s.dtype == graph.Float32 {
				out = append(out, scanned(x))
			}
			return out
		})
		for j, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
			x := graph.Convert(graph.Sin(graph.Convert(at, graph.Float32)), s.dtype)
			if odd == 0 {
				x = graph.Mul(x, 0)
			}
			x = graph.Select(graph.Eq(at, size-1-j), odd, x)
			want, err := both[0](x)
			require.NoError(t, err, name)
			got, err := both[1](x)
			require.NoError(t, err, name)
			for k := range got {
				w := floats(t, graph.Convert(want[k], graph.Float64))
				g := floats(t, graph.Convert(got[k], graph.Float64))
				require.Len(t, g, len(w), name)
				for m := range w {
					if math.IsNaN(w[m]) {
						require.True(t, math.IsNaN(g[m]), "%s, result %d, element %d: %v", name, k, m, g[m])
					} else {
						require.Equal(t, w[m], g[m], "%s, result %d, element %d", name, k, m)
					}
				}
			}
		}
	}
}

// What takes the fast maximum, which may lose NaN, has NaN where the interpreter has it, and finds it first.
func TestFastExtremesBringNaNBack(t *testing.T) {
	c := open(t, Options{})
	for i, dims := range [][]int{{3, 5}, {300, 31}, {41, 1001}, {2, 70, 70}} {
		name := fmt.Sprintf("28.%d %v", 430+i, dims)
		size := graph.ShapeOf(graph.Float32, dims...).Size()
		at := graph.Reshape(graph.Iota(size), dims...)
		both := interpretedAndCompiled(c, func(x *array) []*array {
			last := len(dims) - 1
			isNaN := func(y *array) *array { return graph.Convert(graph.IsNaN(y), graph.Int32) }
			return []*array{isNaN(graph.Softmax(x, last)), isNaN(graph.Softmax(x, 0)),
				isNaN(graph.LogSoftmax(x, last)), isNaN(graph.LogSumExp(x, last)),
				isNaN(graph.LogSumExp(x, 0)), isNaN(graph.LogSumExp(x)),
				graph.ArgMax(x, last), graph.ArgMin(x, 0)}
		})
		for j, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x := graph.Select(graph.Eq(at, size/2+j), odd, graph.Sin(graph.Convert(at, graph.Float32)))
			want, err := both[0](x)
			require.NoError(t, err, name)
			got, err := both[1](x)
			require.NoError(t, err, name)
			for k := range got {
				require.Equal(t, floats(t, graph.Convert(want[k], graph.Float64)),
					floats(t, graph.Convert(got[k], graph.Float64)), "%s, %g, result %d", name, odd, k)
			}
		}
	}
}
