package graph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A TPU writes a row of each lane's small array by a select; other targets scatter.
func TestSelectedWrites(t *testing.T) {
	write := func(rows int) *Program {
		args := []any{Abstract(ShapeOf(Float32, 32, rows, 92)), Abstract(ShapeOf(Float32, 32, 92)),
			Abstract(ShapeOf(Int32, 32))}
		p, err := TraceArgs("write", args, TraceOptions{}, func(in []any) any {
			return VMap3(func(x, row, i *Array) *Array { return DynamicUpdateIndex(x, row, i, 0) })(
				in[0].(*Array), in[1].(*Array), in[2].(*Array))
		})
		require.NoError(t, err)
		return p
	}
	require.Zero(t, opsOf(t, TargetTPU, write(51))["scatter"])
	require.Equal(t, 1, opsOf(t, TargetTPU, write(51))["select"])
	require.Equal(t, 1, opsOf(t, TargetCUDA, write(51))["scatter"])
	require.Equal(t, 1, opsOf(t, TargetTPU, write(500))["scatter"], "a large array")
}

// A write by a select drops what is outside of the array, in every dtype of indices.
func TestSelectedWritesOutside(t *testing.T) {
	for _, c := range []struct {
		name    string
		indices *Array
		rows    int
	}{
		{"2^32 and its neighbors", Of([]int64{1 << 32, 1<<32 + 1, -1 << 32, 1}), 3},
		{"2^32 in one whole window", Of([]int64{1 << 32, 0, -1, 1}), 1},
		{"no sign", Of([]uint64{math.MaxUint64, 1 << 63, 1 << 32, 2}), 3},
		{"2^31 and more", Of([]uint32{math.MaxUint32, 1 << 31, 3, 2}), 3},
		{"bytes for many rows", Of([]int8{-128, 127, -1, 0}), 200},
	} {
		x, updates := Zeros(ShapeOf(Float32, 4, c.rows)), Of([]float32{1, 2, 3, 4})
		p, err := TraceArgs("write", []any{x, c.indices, updates}, TraceOptions{}, func(in []any) any {
			return VMap3(func(x, i, row *Array) *Array {
				return ScatterSet(x, ExpandDims(i, 0), ExpandDims(row, 0))
			})(in[0].(*Array), in[1].(*Array), in[2].(*Array))
		})
		require.NoError(t, err, c.name)
		require.Zero(t, opsOf(t, TargetTPU, p)["scatter"], c.name)
		var outs []*Tensor
		for _, target := range []Target{TargetCUDA, TargetTPU} {
			l, err := Lower(p, target)
			require.NoError(t, err, c.name)
			got, err := Interpret(l.Graph, []*Tensor{tensorOf(t, x), tensorOf(t, c.indices), tensorOf(t, updates)}, nil)
			require.NoError(t, err, c.name)
			outs = append(outs, got[0])
		}
		require.Equal(t, outs[0].Floats(), outs[1].Floats(), c.name)
	}
}

// A TPU reads rows of small arrays by a select; other targets gather. Every element comes out as it is.
func TestSelectedReads(t *testing.T) {
	odd := []float32{float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(-1)), math.MaxFloat32, 0, 1}
	for _, c := range []struct {
		name    string
		args    []any
		gathers int // for a TPU
		read    func(in []*Array) *Array
	}{
		{"a row of each lane", []any{Reshape(Of(odd), 2, 3), Of([]int32{2, -7})}, 0, func(in []*Array) *Array {
			return VMap2(func(x, i *Array) *Array { return DynamicIndex(x, i, 0) })(in[0], in[1])
		}},
		{"rows of a table, some outside of it", []any{Reshape(Of(odd), 3, 2), Of([]int32{1, 9, -1, 0})}, 0,
			func(in []*Array) *Array { return Take(in[0], in[1], 0) }},
		{"booleans", []any{Of([]bool{true, false, true}), Of([]int32{0, 1, 2, 1})}, 0,
			func(in []*Array) *Array { return Take(in[0], in[1], 0) }},
		{"unsigned", []any{Of([]uint32{1, math.MaxUint32, 0}), Of([]uint32{1, math.MaxUint32, 0})}, 0,
			func(in []*Array) *Array { return Take(in[0], in[1], 0) }},
		{"along an axis", []any{Reshape(Of(odd), 2, 3), Reshape(Of([]int32{2, 0, 1, 1}), 2, 2)}, 0,
			func(in []*Array) *Array { return TakeAlongAxis(in[0], in[1], 1) }},
		{"a part of the rows", []any{Reshape(Of(odd), 2, 3), Of([]int32{1, 0})}, 1, func(in []*Array) *Array {
			return VMap2(func(x, i *Array) *Array { return DynamicSlice(x, []*Array{i}, []int{2}) })(in[0], in[1])
		}},
		{"complex numbers", []any{Complex(Of(odd), Of(odd)), Of([]int32{1, 9, -1, 0})}, 1,
			func(in []*Array) *Array { return Take(in[0], in[1], 0) }},
		{"bytes as indices of many rows", []any{Iota(200), Of([]int8{-128, 127, -1, 0})}, 0,
			func(in []*Array) *Array { return Take(in[0], in[1], 0) }},
		{"a large table", []any{Zeros(ShapeOf(Float32, 1<<20)), Of([]int32{1, 0})}, 1,
			func(in []*Array) *Array { return Take(in[0], in[1], 0) }},
	} {
		p, err := TraceArgs("read", c.args, TraceOptions{}, func(in []any) any {
			return c.read([]*Array{in[0].(*Array), in[1].(*Array)})
		})
		require.NoError(t, err, c.name)
		require.Equal(t, c.gathers, opsOf(t, TargetTPU, p)["gather"], c.name)
		require.Equal(t, 1, opsOf(t, TargetCUDA, p)["gather"], c.name)
		if c.gathers > 0 {
			continue
		}
		var outs []*Tensor
		for _, target := range []Target{TargetCUDA, TargetTPU} {
			l, err := Lower(p, target)
			require.NoError(t, err, c.name)
			in := []*Tensor{tensorOf(t, c.args[0].(*Array)), tensorOf(t, c.args[1].(*Array))}
			got, err := Interpret(l.Graph, in, nil)
			require.NoError(t, err, c.name)
			outs = append(outs, got[0])
		}
		require.Equal(t, outs[0], outs[1], "%s: the same bits", c.name)
	}
}

// A TPU has a kernel for the eigenvalues of matrices that are not large.
func TestEighOfTPU(t *testing.T) {
	calls := func(target Target, n int, d DType) int {
		p, err := TraceArgs("eigh", []any{Abstract(ShapeOf(d, n, n))}, TraceOptions{}, func(in []any) any {
			w, v := Eigh(in[0].(*Array))
			return []*Array{w, v}
		})
		require.NoError(t, err)
		l, err := Lower(p, target)
		require.NoError(t, err)
		if calls := opsOf(t, target, p)["custom_call"]; calls > 0 && target == TargetTPU {
			require.Contains(t, l.StableHLO, `call_target_name = "Eigh", has_side_effect = false, `+
				`backend_config = "1,1,100,1e-6"`, "as JAX calls it")
			return calls
		}
		return 0
	}
	require.Equal(t, 1, calls(TargetTPU, 386, Float32))
	require.Zero(t, calls(TargetTPU, 1025, Float32), "a large one")
	require.Zero(t, calls(TargetTPU, 1, Float32), "a number")
	require.Zero(t, calls(TargetCUDA, 386, Float32), "CUDA's plugin has none")
}
