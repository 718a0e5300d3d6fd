package lower

import (
	"math"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A TPU puts together several parts by selects, bit by bit the same. Few parts, many parts, large results and complex
// numbers are left to the compiler, and so are other targets.
func TestSelectedParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		dtype graph.DType
		axis  int
		sizes []int
		left  int // concatenations
	}{
		{"rows of different lengths", graph.Float32, 0, []int{1, 3, 1, 2}, 0},
		{"the last axis, and an empty part", graph.Float32, 1, []int{2, 0, 1, 1, 5}, 0},
		{"conditions", graph.Bool, 0, []int{1, 1, 1, 1}, 0},
		{"bytes", graph.Uint8, 1, []int{2, 2, 2, 2}, 0},
		{"half precision", graph.BFloat16, 0, []int{3, 1, 1, 3}, 0},
		{"three parts", graph.Float32, 0, []int{1, 1, 1}, 1},
		{"many parts", graph.Float32, 0, make([]int, mostParts+1), 1},
		{"a large result", graph.Float32, 0, []int{1, 1, 1, mostConcatenated / 4 / 4}, 1},
		{"complex numbers", graph.Complex64, 0, []int{1, 1, 1, 1}, 1},
	} {
		var args []any
		var in []*graph.Tensor
		for k, size := range c.sizes {
			dims := []int{4, 4}
			dims[c.axis] = size
			x := graph.Mul(graph.Add(graph.IotaAxis(graph.ShapeOf(graph.Float32, dims...), 1-c.axis), float32(k)),
				-.5).Convert(c.dtype)
			args, in = append(args, x), append(in, tensorOf(t, x))
		}
		if c.dtype == graph.Float32 && len(in[0].V) > 3 {
			in[0].SetF(0, math.NaN())
			in[0].SetF(1, math.Inf(-1))
			in[0].SetF(2, math.Copysign(0, -1))
		}
		p, err := graph.TraceArgs("join", args, graph.TraceOptions{}, func(args []any) any {
			parts := make([]*graph.Array, len(args))
			for i, a := range args {
				parts[i] = a.(*graph.Array)
			}
			return graph.Concatenate(c.axis, parts...)
		})
		require.NoError(t, err, c.name)
		require.Equal(t, c.left, opsOf(t, graph.TargetTPU, p)["concatenate"], c.name)
		require.Equal(t, 1, opsOf(t, graph.TargetCUDA, p)["concatenate"], c.name)
		require.Equal(t, interpretLowered(t, graph.TargetCPU, p, in...)[0].V,
			interpretLowered(t, graph.TargetTPU, p, in...)[0].V, c.name)
	}
}

// A condition of constants and numbers of elements is a constant for an accelerator.
func TestConstantConditions(t *testing.T) {
	f := func(size int) *graph.Program {
		p, err := graph.Trace("mask", func(x *graph.Array) *graph.Array {
			return graph.Select(graph.Iota(size).Ge(3),
				x, 0.)
		},
			graph.Abstract(graph.ShapeOf(graph.Float32, size)))
		require.NoError(t, err)
		return p
	}
	require.Zero(t, opsOf(t, graph.TargetTPU, f(92))["compare"])
	require.Equal(t, 1, opsOf(t, graph.TargetTPU, f(mostConstant+1))["compare"], "a long one")
	require.Zero(t, opsOf(t, graph.TargetCUDA, f(92))["compare"])
	require.Equal(t, 1, opsOf(t, graph.TargetCPU, f(92))["compare"], "a CPU computes it")
	x := tensorOf(t, graph.Add(graph.Iota(92), 1).Convert(graph.Float32))
	require.Equal(t, interpretLowered(t, graph.TargetCPU, f(92), x)[0].V,
		interpretLowered(t, graph.TargetTPU, f(92), x)[0].V)
}

// Indices that are outside of an array are moved into it, in every dtype, without a clamp of their own.
func TestSelectedReadsOutside(t *testing.T) {
	for _, c := range []struct {
		name   string
		index  *graph.Array
		rows   int
		clamps int
	}{
		{"32 bits", graph.Of([]int32{-1, 0, 4, 5, math.MinInt32, math.MaxInt32}), 5, 0},
		{"one row", graph.Of([]int32{-1, 0, 1, 5, math.MinInt32, math.MaxInt32}), 1, 0},
		{"bytes, which are widened", graph.Of([]int8{-128, -1, 0, 4, 5, 127}), 5, 0},
		{"64 bits", graph.Of([]int64{math.MinInt64, -1, 0, 4, 5, math.MaxInt64}), 5, 1},
		{"a long axis", graph.Of([]int32{-1, 0, mostConstant, mostConstant + 1, mostConstant + 2, 5}),
			mostConstant + 1, 1},
	} {
		x := graph.Mul(graph.IotaAxis(graph.ShapeOf(graph.Float32, 6, c.rows, 2), 1),
			3).Add(graph.IotaAxis(graph.ShapeOf(graph.Float32, 6, c.rows, 2), 2))
		p, err := graph.TraceArgs("read", []any{x, c.index}, graph.TraceOptions{}, func(in []any) any {
			return graph.VMap2(func(x, i *graph.Array) *graph.Array {
				return graph.DynamicIndex(x, i,
					0)
			})(in[0].(*graph.Array), in[1].(*graph.Array))
		})
		require.NoError(t, err, c.name)
		in := []*graph.Tensor{tensorOf(t, x), tensorOf(t, c.index)}
		require.Equal(t, interpretLowered(t, graph.TargetCPU, p, in...)[0].V,
			interpretLowered(t, graph.TargetTPU, p, in...)[0].V,
			c.name)
		if c.rows > 1 {
			require.Zero(t, opsOf(t, graph.TargetTPU, p)["gather"], c.name)
		}
		require.Equal(t, c.clamps, opsOf(t, graph.TargetTPU, p)["clamp"], c.name)
	}
}

// Float32 numbers that are converted to indices are compared as they are. The results are the same: digits after the
// point are dropped, and numbers outside of the array are moved into it.
func TestSelectedReadsOfNumbers(t *testing.T) {
	numbers := []float32{0, 1, 4, 5, -1, -.5, .5, .99999994, 1.5, 3.9999998, 4.5, 1e9, -1e9}
	places := []float32{0, 1, 4, 4, 0, 0, 0, 0, 1, 3, 4, 4, 0}
	for _, c := range []struct {
		name  string
		index func(x *graph.Array) *graph.Array
	}{
		{"any number", func(x *graph.Array) *graph.Array { return x.Convert(graph.Int32) }},
		{"from 0 on", func(x *graph.Array) *graph.Array { return x.Convert(graph.Int32).Max(0) }},
	} {
		rows := graph.IotaAxis(graph.ShapeOf(graph.Float32, len(numbers), 5, 2), 1)
		p, err := graph.TraceArgs("read", []any{rows, graph.Of(numbers)}, graph.TraceOptions{}, func(in []any) any {
			read := graph.VMap2(func(x, i *graph.Array) *graph.Array { return graph.DynamicIndex(x, c.index(i), 0) })
			return read(in[0].(*graph.Array), in[1].(*graph.Array))
		})
		require.NoError(t, err, c.name)
		got := interpretLowered(t, graph.TargetTPU, p, tensorOf(t, rows), tensorOf(t, graph.Of(numbers)))[0]
		for i, want := range places {
			require.EqualValues(t, want, got.F(2*i), "%s: %v", c.name, numbers[i])
		}
		require.Equal(t, 2, opsOf(t, graph.TargetTPU, p)["or"], "%s: the numbers themselves are compared", c.name)
	}
}
