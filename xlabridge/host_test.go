package xlabridge

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
)

// A program calls a function of the host: once a step of a scan for all lanes of VMap, on the device and in the
// interpreter. Results of several dtypes come back, and errors end the call with one sentence.
func TestHostCall(t *testing.T) {
	calls, lanes := 0, 0
	var fail error
	graph.RegisterHostFunction("test_host", func(args []*graph.Array) ([]*graph.Array, error) {
		if fail != nil {
			return nil, fail
		}
		calls, lanes = calls+1, args[0].Dim(0)
		x, y := args[0], args[1]
		return []*graph.Array{graph.Add(x, graph.Mul(y.Convert(graph.Float32), 10).Reshape(y.Dim(0), 1)), y.Gt(1)}, nil
	})
	one := func(x, y *graph.Array) graph.Pair[*graph.Array, *graph.Array] {
		end, flags := graph.Scan(func(x, i *graph.Array) (*graph.Array, *graph.Array) {
			out := graph.HostCall("test_host", []graph.Shape{x.Shape(), graph.ShapeOf(graph.Bool)}, x, y.Add(i))
			return out[0], out[1]
		}, x, graph.Iota(3))
		return graph.PairOf(end, flags)
	}
	c := open(t, Options{})
	for _, b := range []Backend{c, &Reference{}} {
		for i, mapped := range []bool{false, true} {
			calls = 0
			f := one
			x, y := graph.Float32s([]float32{1, 2}), graph.Of(int32(1))
			if mapped {
				f = graph.VMap2(graph.VMap2(one, graph.InAxes(0, graph.Unmapped)))
				x = graph.Float32s([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3, 2, 2)
				y = graph.Of([]int32{1, 0, 5})
			}
			out, err := Jit2(b, f)(x, y)
			require.NoError(t, err)
			require.Equal(t, 3, calls, "case %d", i)
			want := [][]float64{{61, 62}, {61, 62, 63, 64, 35, 36, 37, 38, 189, 190, 191, 192}}[i]
			got := graphtest.Floats(t, out.First)
			require.Equal(t, want, got)
			flags := graphtest.Floats(t, out.Second.Convert(graph.Float32))
			require.Equal(t, [][]float64{{0, 1, 1}, {0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1}}[i], flags)
			require.Equal(t, []int{1, 6}[i], lanes)
		}
		run := Jit2(b, one)
		fail = errors.New("the simulator is gone")
		_, err := run(graph.Float32s([]float32{1, 2}), graph.Of(int32(1)))
		require.ErrorContains(t, err, "the simulator is gone")
		require.NotContains(t, err.Error(), "\n")
		fail = nil
		_, err = run(graph.Float32s([]float32{1, 2}), graph.Of(int32(1)))
		require.NoError(t, err, "the next call")
		for name, want := range map[string]string{"test_nobody": "no function is registered under the name",
			"test_few":   "returned 1 arrays, want 2",
			"test_shape": `"test_shape" returned f32[1,3] as result 1, want bool[1]`,
			"test_nil":   "returned nil as result 0"} {
			graph.RegisterHostFunction("test_few", func(a []*graph.Array) ([]*graph.Array, error) { return a[:1], nil })
			graph.RegisterHostFunction("test_shape", func(a []*graph.Array) ([]*graph.Array, error) {
				return []*graph.Array{a[0], a[0]}, nil
			})
			graph.RegisterHostFunction("test_nil", func(a []*graph.Array) ([]*graph.Array, error) {
				return []*graph.Array{nil, nil}, nil
			})
			_, err := Jit(b, func(x *graph.Array) []*graph.Array {
				return graph.HostCall(name, []graph.Shape{x.Shape(), graph.ShapeOf(graph.Bool)}, x)
			})(graph.Float32s([]float32{1, 2, 3}))
			require.ErrorContains(t, err, want)
		}
	}
	_, err := Jit(c, graph.Grad(func(x *graph.Array) *graph.Array {
		return graph.HostCall("test_host", []graph.Shape{x.Shape()}, x, x)[0].Sum()
	}))(graph.Float32s([]float32{1}))
	require.ErrorContains(t, err, "a function of the host has no derivative")
}
