package lower

import (
	"math"
	"testing"

	"xlarun/graph"
	"xlarun/graph/linalg"

	"github.com/stretchr/testify/require"
)

// A TPU writes a row of each lane's small array by a select; other targets scatter.
func TestSelectedWrites(t *testing.T) {
	write := func(rows int) *graph.Program {
		args := []any{graph.Abstract(graph.ShapeOf(graph.Float32, 32, rows, 92)),
			graph.Abstract(graph.ShapeOf(graph.Float32, 32, 92)),
			graph.Abstract(graph.ShapeOf(graph.Int32, 32))}
		p, err := graph.TraceArgs("write", args, graph.TraceOptions{}, func(in []any) any {
			return graph.VMap(func(in []any) *graph.Array {
				return graph.DynamicUpdateIndex(in[0].(*graph.Array), in[1].(*graph.Array), in[2].(*graph.Array), 0)
			})(in)
		})
		require.NoError(t, err)
		return p
	}
	require.Zero(t, opsOf(t, graph.TargetTPU, write(51))["scatter"])
	require.Equal(t, 1, opsOf(t, graph.TargetTPU, write(51))["select"])
	require.Equal(t, 1, opsOf(t, graph.TargetCUDA, write(51))["scatter"])
	require.Equal(t, 1, opsOf(t, graph.TargetTPU, write(500))["scatter"], "a large array")
}

// A write by a select drops what is outside of the array, in every dtype of indices.
func TestSelectedWritesOutside(t *testing.T) {
	for _, c := range []struct {
		name    string
		indices *graph.Array
		rows    int
	}{
		{"2^32 and its neighbors", graph.Of([]int64{1 << 32, 1<<32 + 1, -1 << 32, 1}), 3},
		{"2^32 in one whole window", graph.Of([]int64{1 << 32, 0, -1, 1}), 1},
		{"no sign", graph.Of([]uint64{math.MaxUint64, 1 << 63, 1 << 32, 2}), 3},
		{"2^31 and more", graph.Of([]uint32{math.MaxUint32, 1 << 31, 3, 2}), 3},
		{"bytes for many rows", graph.Of([]int8{-128, 127, -1, 0}), 200},
	} {
		x, updates := graph.Zeros(graph.ShapeOf(graph.Float32, 4, c.rows)), graph.Of([]float32{1, 2, 3, 4})
		p, err := graph.TraceArgs("write", []any{x, c.indices, updates}, graph.TraceOptions{}, func(in []any) any {
			return graph.VMap(func(in []any) *graph.Array {
				x, i, row := in[0].(*graph.Array), in[1].(*graph.Array), in[2].(*graph.Array)
				return graph.ScatterSet(x, graph.ExpandDims(i, 0), graph.ExpandDims(row, 0))
			})(in)
		})
		require.NoError(t, err, c.name)
		require.Zero(t, opsOf(t, graph.TargetTPU, p)["scatter"], c.name)
		var outs []*graph.Tensor
		for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
			l, err := Lower(p, target)
			require.NoError(t, err, c.name)
			got, err := graph.Interpret(l.Graph, []*graph.Tensor{tensorOf(t, x), tensorOf(t, c.indices),
				tensorOf(t, updates)}, nil)
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
		read    func(in []*graph.Array) *graph.Array
	}{
		{"a row of each lane", []any{graph.Reshape(graph.Of(odd), 2, 3), graph.Of([]int32{2, -7})}, 0,
			func(in []*graph.Array) *graph.Array {
				return graph.VMap2(func(x, i *graph.Array) *graph.Array { return graph.DynamicIndex(x, i, 0) })(in[0],
					in[1])
			}},
		{"rows of a table, some outside of it", []any{graph.Reshape(graph.Of(odd), 3, 2),
			graph.Of([]int32{1, 9, -1, 0})}, 0,
			func(in []*graph.Array) *graph.Array { return graph.Take(in[0], in[1], 0) }},
		{"booleans", []any{graph.Of([]bool{true, false, true}), graph.Of([]int32{0, 1, 2, 1})}, 0,
			func(in []*graph.Array) *graph.Array { return graph.Take(in[0], in[1], 0) }},
		{"unsigned", []any{graph.Of([]uint32{1, math.MaxUint32, 0}), graph.Of([]uint32{1, math.MaxUint32, 0})}, 0,
			func(in []*graph.Array) *graph.Array { return graph.Take(in[0], in[1], 0) }},
		{"along an axis", []any{graph.Reshape(graph.Of(odd), 2, 3), graph.Reshape(graph.Of([]int32{2, 0, 1, 1}), 2,
			2)}, 0,
			func(in []*graph.Array) *graph.Array { return graph.TakeAlongAxis(in[0], in[1], 1) }},
		{"a part of the rows", []any{graph.Reshape(graph.Of(odd), 2, 3), graph.Of([]int32{1, 0})}, 1,
			func(in []*graph.Array) *graph.Array {
				return graph.VMap2(func(x, i *graph.Array) *graph.Array {
					return graph.DynamicSlice(x, []*graph.Array{i},
						[]int{2})
				})(in[0], in[1])
			}},
		{"complex numbers", []any{graph.Complex(graph.Of(odd), graph.Of(odd)), graph.Of([]int32{1, 9, -1, 0})}, 1,
			func(in []*graph.Array) *graph.Array { return graph.Take(in[0], in[1], 0) }},
		{"bytes as indices of many rows", []any{graph.Iota(200), graph.Of([]int8{-128, 127, -1, 0})}, 0,
			func(in []*graph.Array) *graph.Array { return graph.Take(in[0], in[1], 0) }},
		{"a large table", []any{graph.Zeros(graph.ShapeOf(graph.Float32, 1<<20)), graph.Of([]int32{1, 0})}, 1,
			func(in []*graph.Array) *graph.Array { return graph.Take(in[0], in[1], 0) }},
	} {
		p, err := graph.TraceArgs("read", c.args, graph.TraceOptions{}, func(in []any) any {
			return c.read([]*graph.Array{in[0].(*graph.Array), in[1].(*graph.Array)})
		})
		require.NoError(t, err, c.name)
		require.Equal(t, c.gathers, opsOf(t, graph.TargetTPU, p)["gather"], c.name)
		require.Equal(t, 1, opsOf(t, graph.TargetCUDA, p)["gather"], c.name)
		if c.gathers > 0 {
			continue
		}
		var outs []*graph.Tensor
		for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
			l, err := Lower(p, target)
			require.NoError(t, err, c.name)
			in := []*graph.Tensor{tensorOf(t, c.args[0].(*graph.Array)), tensorOf(t, c.args[1].(*graph.Array))}
			got, err := graph.Interpret(l.Graph, in, nil)
			require.NoError(t, err, c.name)
			outs = append(outs, got[0])
		}
		require.Equal(t, outs[0], outs[1], "%s: the same bits", c.name)
	}
}

// A TPU has a kernel for the eigenvalues of matrices that are not large.
func TestEighOfTPU(t *testing.T) {
	calls := func(target graph.Target, n int, d graph.DType) int {
		p, err := graph.TraceArgs("eigh", []any{graph.Abstract(graph.ShapeOf(d, n, n))}, graph.TraceOptions{},
			func(in []any) any {
				w, v := linalg.Eigh(in[0].(*graph.Array))
				return []*graph.Array{w, v}
			})
		require.NoError(t, err)
		l, err := Lower(p, target)
		require.NoError(t, err)
		if calls := opsOf(t, target, p)["custom_call"]; calls > 0 && target == graph.TargetTPU {
			require.Contains(t, l.StableHLO, `call_target_name = "Eigh", has_side_effect = false, `+
				`backend_config = "1,1,100,1e-6"`, "as JAX calls it")
			return calls
		}
		return 0
	}
	require.Equal(t, 1, calls(graph.TargetTPU, 386, graph.Float32))
	require.Zero(t, calls(graph.TargetTPU, 1025, graph.Float32), "a large one")
	require.Zero(t, calls(graph.TargetTPU, 1, graph.Float32), "a number")
	require.Zero(t, calls(graph.TargetCUDA, 386, graph.Float32), "CUDA's plugin has none")
}
