package gomlx_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"xlarun/gomlx"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type nodes = []*mlgraph.Node

// Programs with closures, sorting and windows give what GoMLX's own backend gives.
func TestPrograms(t *testing.T) {
	x := [][]float32{{3, -1, 2, 2}, {0, 7, -5, 4}, {float32(math.Inf(1)), 1, 0, -2}}
	cases := []struct {
		name  string
		build func(x *mlgraph.Node) nodes
	}{
		{"sort, the largest and the least", func(x *mlgraph.Node) nodes {
			values, indices := mlgraph.TopK(x, 2, 1)
			least, at := mlgraph.BottomK(x, 3, 0)
			return nodes{mlgraph.Sort(x, 1, true), mlgraph.Sort(x, 0, false), values, indices, least, at}
		}},
		{"while, which reads a value from outside", func(x *mlgraph.Node) nodes {
			g := x.Graph()
			limit := mlgraph.Const(g, int32(5))
			cond := mlgraph.NewClosure(g, func(g *mlgraph.Graph) nodes {
				i := mlgraph.Parameter(g, "i", shapes.Make(dtypes.Int32))
				mlgraph.Parameter(g, "sum", x.Shape())
				return nodes{mlgraph.LessThan(i, limit)}
			})
			body := mlgraph.NewClosure(g, func(g *mlgraph.Graph) nodes {
				i := mlgraph.Parameter(g, "i", shapes.Make(dtypes.Int32))
				sum := mlgraph.Parameter(g, "sum", x.Shape())
				return nodes{mlgraph.AddScalar(i, 1), mlgraph.Add(sum, mlgraph.MulScalar(x, 0.5))}
			})
			return mlgraph.While(cond, body, mlgraph.Const(g, int32(0)), mlgraph.ZerosLike(x))
		}},
		{"if", func(x *mlgraph.Node) nodes {
			g := x.Graph()
			branch := func(f func(x *mlgraph.Node) *mlgraph.Node) *mlgraph.Function {
				return mlgraph.NewClosure(g, func(*mlgraph.Graph) nodes { return nodes{f(x)} })
			}
			large := mlgraph.GreaterThan(mlgraph.ReduceAllMax(x), mlgraph.Const(g, float32(3)))
			return nodes{mlgraph.If(large, branch(mlgraph.Neg), branch(mlgraph.Square))[0],
				mlgraph.If(mlgraph.LogicalNot(large), branch(mlgraph.Neg), branch(mlgraph.Square))[0]}
		}},
		{"a function that is called twice", func(x *mlgraph.Node) nodes {
			f := mlgraph.NewFunction(x.Graph(), "twice", func(g *mlgraph.Graph) nodes {
				x := mlgraph.Parameter(g, "x", x.Shape())
				return nodes{mlgraph.Add(x, x)}
			})
			return f.Call(f.Call(x)[0])
		}},
		{"windows, statistics and cumulated sums", func(x *mlgraph.Node) nodes {
			picture := mlgraph.Reshape(mlgraph.MinScalar(x, 9), 1, 3, 4, 1)
			return nodes{mlgraph.MaxPool(picture).Window(2).Strides(1).Done(),
				mlgraph.MeanPool(picture).Window(2).PadSame().Done(), mlgraph.ArgMax(x, 1), mlgraph.ArgMin(x, 0),
				mlgraph.ReduceVariance(mlgraph.MinScalar(x, 9), 1), mlgraph.CumSum(mlgraph.MinScalar(x, 9), 1),
				mlgraph.Softmax(mlgraph.MinScalar(x, 9), 1)}
		}},
		{"gathers and scatters", func(x *mlgraph.Node) nodes {
			g := x.Graph()
			rows := mlgraph.Const(g, [][]int32{{2}, {0}, {2}, {1}})
			taken := mlgraph.Gather(x, rows)
			return nodes{taken, mlgraph.Scatter(rows, mlgraph.MinScalar(taken, 9), shapes.Make(dtypes.Float32, 3, 4),
				false, false)}
		}},
	}
	theirs := goBackend(t)
	client := xlatest.Open(t, 1)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := func(b compute.Backend) (all []*tensors.Tensor) {
				exec, err := mlgraph.NewExec(b, c.build)
				require.NoError(t, err)
				defer exec.Finalize()
				all, err = exec.Call(x)
				require.NoError(t, err)
				return all
			}
			want := run(theirs)
			for _, b := range []xlabridge.Backend{client, &xlabridge.Reference{}} {
				for i, got := range run(gomlx.On(b)) {
					require.True(t, want[i].InDelta(got, 1e-6), "result %d on %s: got %s, want %s", i, b.Backend(), got,
						want[i])
				}
			}
		})
	}
}

// Reductions of no elements give the neutral element, and GoMLX's order of all floats has NaN at its ends.
func TestEdges(t *testing.T) {
	run := func(t *testing.T, build func(f compute.Function) ([]compute.Value, error)) (all []compute.Buffer) {
		builder := gomlx.On(&xlabridge.Reference{}).Builder("edges")
		out, err := build(builder.Main())
		require.NoError(t, err)
		require.NoError(t, builder.Main().Return(out, nil))
		program, err := builder.Compile()
		require.NoError(t, err)
		all, err = program.Execute(nil, nil, 0)
		require.NoError(t, err)
		return all
	}
	t.Run("no elements", func(t *testing.T) {
		out := run(t, func(f compute.Function) (all []compute.Value, err error) {
			floats, err := f.Constant([]float32{}, 2, 0)
			require.NoError(t, err)
			integers, err := f.Constant([]uint8{}, 0)
			require.NoError(t, err)
			for _, reduce := range []func() (compute.Value, error){
				func() (compute.Value, error) { return f.ReduceMax(floats, 1) },
				func() (compute.Value, error) { return f.ReduceMin(floats, 1) },
				func() (compute.Value, error) { return f.ReduceSum(floats, 1) },
			} {
				v, err := reduce()
				require.NoError(t, err)
				all = append(all, v)
			}
			least, err := f.ReduceMin(integers)
			return append(all, least), err
		})
		inf := float32(math.Inf(1))
		for i, want := range []any{[]float32{-inf, -inf}, []float32{inf, inf}, []float32{0, 0}, []uint8{255}} {
			got := reflect.MakeSlice(reflect.TypeOf(want), reflect.ValueOf(want).Len(), reflect.ValueOf(want).Len())
			require.NoError(t, out[i].ToFlatData(got.Interface()))
			require.Equal(t, want, got.Interface())
		}
	})
	t.Run("places in one vector, which are moved inside", func(t *testing.T) {
		out := run(t, func(f compute.Function) ([]compute.Value, error) {
			x, err := f.Constant([]int32{0, 1, 2, 3, 4, 5}, 2, 3)
			require.NoError(t, err)
			update, err := f.Constant([]int32{8, 9}, 1, 2)
			require.NoError(t, err)
			at, err := f.Constant([]int64{1, 2}, 2)
			require.NoError(t, err)
			read, err := f.DynamicSlice(x, []compute.Value{at}, []int{1, 2})
			require.NoError(t, err)
			written, err := f.DynamicUpdateSlice(x, update, []compute.Value{at})
			return []compute.Value{read, written}, err
		})
		for i, want := range [][]int32{{4, 5}, {0, 1, 2, 3, 8, 9}} {
			got := make([]int32, len(want))
			require.NoError(t, out[i].ToFlatData(got))
			require.Equal(t, want, got)
		}
	})
	t.Run("complex numbers and transforms", func(t *testing.T) {
		out := run(t, func(f compute.Function) (all []compute.Value, err error) {
			add := func(v compute.Value, err error) compute.Value {
				require.NoError(t, err)
				return v
			}
			re, im := add(f.Constant([]float32{1, 2, 3, 4}, 4)), add(f.Constant([]float32{0, 1, 0, -1}, 4))
			z := add(f.Complex(re, im))
			back := add(f.FFT(add(f.FFT(z, compute.FFTForward, []int{4})), compute.FFTInverse, []int{4}))
			spectrum := add(f.FFT(re, compute.FFTForwardReal, []int{4}))
			same := add(f.FFT(spectrum, compute.FFTInverseReal, []int{4}))
			return []compute.Value{add(f.Real(back)), add(f.Imag(add(f.Conj(back)))), add(f.Real(spectrum)),
				add(f.Imag(spectrum)), same}, nil
		})
		for i, want := range [][]float32{{1, 2, 3, 4}, {0, -1, 0, 1}, {10, -2, -2}, {0, 2, 0}, {1, 2, 3, 4}} {
			got := make([]float32, len(want))
			require.NoError(t, out[i].ToFlatData(got))
			require.InDeltaSlice(t, want, got, 1e-6)
		}
	})
	t.Run("total order", func(t *testing.T) {
		nan, inf := math.NaN(), math.Inf(1)
		sorted := []float64{math.Copysign(nan, -1), -inf, -2, math.Copysign(0, -1), 0, 1, inf, math.Copysign(nan, 1)}
		out := run(t, func(f compute.Function) ([]compute.Value, error) {
			low, err := f.Constant(sorted[:7], 7)
			require.NoError(t, err)
			high, err := f.Constant(sorted[1:], 7)
			require.NoError(t, err)
			less, err := f.LessThanTotalOrder(low, high)
			require.NoError(t, err)
			equal, err := f.EqualTotalOrder(low, low)
			return []compute.Value{less, equal}, err
		})
		for _, b := range out {
			got := make([]bool, 7)
			require.NoError(t, b.ToFlatData(got))
			require.Equal(t, []bool{true, true, true, true, true, true, true}, got)
		}
	})
}

// A gradient of a pool goes to the first largest element, or the first least one, of each window.
func TestSelectAndScatter(t *testing.T) {
	t.Run("the largest and the least", func(t *testing.T) {
		builder := gomlx.On(&xlabridge.Reference{}).Builder("pool")
		f := builder.Main()
		x, err := f.Constant([]float32{1, 3, 2, 4, 5, 5}, 6)
		require.NoError(t, err)
		source, err := f.Constant([]float32{10, 20, 30}, 3)
		require.NoError(t, err)
		largest, err := f.SelectAndScatterMax(x, source, []int{2}, []int{2}, nil)
		require.NoError(t, err)
		least, err := f.SelectAndScatterMin(x, source, []int{2}, []int{2}, nil)
		require.NoError(t, err)
		require.NoError(t, f.Return([]compute.Value{largest, least}, nil))
		program, err := builder.Compile()
		require.NoError(t, err)
		out, err := program.Execute(nil, nil, 0)
		require.NoError(t, err)
		for i, want := range [][]float32{{0, 10, 0, 20, 30, 0}, {10, 0, 20, 0, 30, 0}} {
			got := make([]float32, 6)
			require.NoError(t, out[i].ToFlatData(got))
			require.Equal(t, want, got)
		}
	})
}
