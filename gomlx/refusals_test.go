package gomlx_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/gomlx"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// What cannot be recorded is refused by name, in one sentence.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node
		want  string
	}{
		{"complex numbers of float64 parts", func(_ *model.Scope, x *mlgraph.Node) *mlgraph.Node {
			x = mlgraph.ConvertDType(x, dtypes.Float64)
			return mlgraph.Real(mlgraph.Complex(x, x))
		}, "xlarun has complex numbers of float32 parts, got Float64"},
		{"dtypes", func(_ *model.Scope, x *mlgraph.Node) *mlgraph.Node {
			return mlgraph.ConvertDType(x, dtypes.Complex128)
		}, "xlarun has no arrays of the dtype Complex128"},
		{"comparators", func(_ *model.Scope, x *mlgraph.Node) *mlgraph.Node {
			bySize := mlgraph.NewClosure(x.Graph(), func(g *mlgraph.Graph) []*mlgraph.Node {
				a := mlgraph.Parameter(g, "a", shapes.Make(dtypes.Float32))
				b := mlgraph.Parameter(g, "b", shapes.Make(dtypes.Float32))
				return []*mlgraph.Node{mlgraph.LessThan(mlgraph.Abs(a), mlgraph.Abs(b))}
			})
			return mlgraph.SortFunc(bySize, 1, true, x)[0]
		}, "xlarun sorts by comparators that compare the two elements of one input"},
		{"shapes", func(_ *model.Scope, x *mlgraph.Node) *mlgraph.Node {
			f := mlgraph.Const(x.Graph(), []float32{1, 2, 3})
			return mlgraph.Dot(x, f).Product()
		}, "refusals_test.go"},
		{"variables that change", func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node {
			v := scope.VariableWithValue("count", float32(0))
			v.SetNodeValue(mlgraph.AddScalar(v.NodeValue(x.Graph()), 1))
			return x
		}, `the GoMLX model changes its variable "count"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := gomlx.NewModel(nil, func(scope *model.Scope, x []*mlgraph.Node) []*mlgraph.Node {
				return []*mlgraph.Node{c.build(scope, x[0])}
			}, graph.ShapeOf(graph.Float32, 2, 4))
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("what is listed as known is written, and nothing else", func(t *testing.T) {
		known := (&gomlx.Backend{}).Capabilities().Operations
		checked := 0
		for op := compute.OpTypeInvalid; op < compute.OpTypeLast; op++ {
			method := reflect.ValueOf((&gomlx.Backend{}).Builder("").Main()).MethodByName(op.String())
			if !method.IsValid() {
				require.False(t, known[op], op)
				continue
			}
			var args []reflect.Value
			for i := range method.Type().NumIn() {
				args = append(args, reflect.Zero(method.Type().In(i)))
			}
			call := method.Call
			if method.Type().IsVariadic() {
				call = method.CallSlice
			}
			results := call(args)
			err, _ := results[len(results)-1].Interface().(error)
			refused := errors.Is(err, compute.ErrNotImplemented) && !strings.Contains(err.Error(), "dtype")
			require.Equal(t, !known[op], refused, "%s: %v", op, err)
			checked++
		}
		require.Greater(t, checked, 100)
	})
	t.Run("policies", func(t *testing.T) {
		space := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}
		wide := func(scope *model.Scope, x *mlgraph.Node, outputs int) *mlgraph.Node {
			return layers.DenseWithBias(scope, x, outputs+1)
		}
		_, err := gomlx.NewPolicy(wide, space, 2)
		require.EqualError(t, err, "policy: got a GoMLX network that returns f32[1,3], want f32[1,2], a number for "+
			"each of the policy's outputs")
		constant := func(scope *model.Scope, x *mlgraph.Node, outputs int) *mlgraph.Node {
			return mlgraph.Slice(x, mlgraph.AxisRange(), mlgraph.AxisRange(0, outputs))
		}
		_, err = gomlx.NewPolicy(constant, space, 2)
		require.EqualError(t, err, "policy: got a GoMLX network without trainable variables, want at least one")
		picture := func(scope *model.Scope, x *mlgraph.Node, outputs int) *mlgraph.Node {
			return mlgraph.Reshape(layers.Convolution(scope, x).Channels(outputs).KernelSize(3).Done(), 1, -1)
		}
		_, err = gomlx.NewPolicy(picture, space, 2)
		require.ErrorContains(t, err, "policy: got a GoMLX network, want one that can be recorded for observations of "+
			"f32[1,3]: ")
	})
	t.Run("backends", func(t *testing.T) {
		_, err := gomlx.Open("gpu")
		require.EqualError(t, err, "the backend xlarun:gpu is not known: want one of cpu, cuda, rocm, tpu and "+
			"reference after the colon")
		b, err := compute.NewWithConfig("xlarun:reference")
		require.NoError(t, err)
		require.Equal(t, "xlarun on reference", b.Description())
		_, err = b.BufferFromFlatData(0, []float32{1}, shapes.Make(dtypes.Float32, 2))
		require.ErrorContains(t, err, "f32[2], which has 2 elements")
	})
}

// Variables that are not trained are constants, and those with values start from them.
func TestVariables(t *testing.T) {
	t.Run("which variables are parameters", func(t *testing.T) {
		store := model.NewStore()
		store.VariableWithValue("/given", []float32{4, 5})
		build := func(scope *model.Scope, x []*mlgraph.Node) []*mlgraph.Node {
			g := x[0].Graph()
			scale := scope.VariableWithValue("scale", []float32{2, 3}).SetTrainable(false).NodeValue(g)
			noise := scope.WithInitializer(func(g *mlgraph.Graph, s shapes.Shape) *mlgraph.Node {
				return scope.RandomUniform(g, s)
			}).VariableWithShape("noise", shapes.Make(dtypes.Float32, 2)).SetTrainable(false).NodeValue(g)
			given := scope.VariableWithValue("given", []float32{0, 0}).NodeValue(g)
			drawn := scope.VariableWithShape("drawn", shapes.Make(dtypes.Float32, 1, 2)).NodeValue(g)
			sum := mlgraph.Add(mlgraph.Mul(given, scale), mlgraph.Reshape(drawn, 2))
			return []*mlgraph.Node{sum, noise, scope.RandomUniform(g, shapes.Make(dtypes.Float32, 1000))}
		}
		m, err := gomlx.NewModel(store, build, graph.ShapeOf(graph.Float32))
		require.NoError(t, err)
		require.Equal(t, map[string]graph.Shape{"given": graph.ShapeOf(graph.Float32, 2),
			"drawn": graph.ShapeOf(graph.Float32, 1, 2)}, m.Parameters())
		require.Len(t, m.Outputs(), 3)
		call := func(key int64) (params map[string]*graph.Array, out []*graph.Array) {
			params = m.Init(random.New(key))
			f := xlabridge.Jit2(&xlabridge.Reference{}, func(p map[string]*graph.Array, key random.Key) []*graph.Array {
				return m.Call(p, key, graph.Scalar(0))
			})
			out, err := f(params, random.New(key))
			require.NoError(t, err)
			return params, out
		}
		params, out := call(1)
		require.Equal(t, []float64{4, 5}, floats(t, params["given"]))
		drawn := floats(t, params["drawn"])
		require.InDeltaSlice(t, []float64{8 + drawn[0], 15 + drawn[1]}, floats(t, out[0]), 1e-5)
		other, otherOut := call(2)
		require.NotEqual(t, drawn, floats(t, other["drawn"]), "each member has its own draws")
		require.Equal(t, floats(t, out[1]), floats(t, otherOut[1]), "a constant is the same for all members")
		require.NotEqual(t, floats(t, out[2]), floats(t, otherOut[2]), "noise follows from the key")
		mean := 0.
		for _, x := range floats(t, out[2]) {
			require.GreaterOrEqual(t, x, 0.)
			require.Less(t, x, 1.)
			mean += x / 1000
		}
		require.InDelta(t, .5, mean, 5*uniformDeviation/31.6)
	})
}

// uniformDeviation is the standard deviation of the uniform distribution on [0, 1).
const uniformDeviation = .2887
