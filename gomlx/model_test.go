package gomlx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/layers/fnn"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"xlarun/gomlx"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// network is a GoMLX network of one input.
type network struct {
	name  string
	input graph.Shape
	high  int // of integer inputs
	build func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node
}

var networks = []network{
	{"dense", graph.ShapeOf(graph.Float32, 2, 5), 0, func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node {
		return fnn.New(scope, x, 3).NumHiddenLayers(2, 8).Activation(activation.TypeGelu).Done()
	}},
	{"convolution", graph.ShapeOf(graph.Float32, 1, 6, 6, 2), 0, func(s *model.Scope, x *mlgraph.Node) *mlgraph.Node {
		x = activation.Relu(layers.Convolution(s.In("a"), x).Channels(4).KernelSize(3).PadSame().Strides(2).Done())
		x = mlgraph.MeanPool(x).Window(2).Done()
		return layers.DenseWithBias(s.In("b"), mlgraph.Reshape(x, 1, -1), 3)
	}},
	{"layer norm", graph.ShapeOf(graph.Float32, 3, 7), 0, func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node {
		x = norm.LayerNorm(scope.In("norm"), layers.DenseWithBias(scope.In("in"), x, 6), -1).Done()
		return layers.DenseWithBias(scope.In("out"), mlgraph.Tanh(x), 2)
	}},
	{"attention", graph.ShapeOf(graph.Float32, 2, 4, 6), 0, func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node {
		x = attention.SelfAttention(scope.In("attention"), x, 2, 3).WithCausalMask(true).Done()
		return layers.DenseWithBias(scope.In("out"), mlgraph.ReduceMean(x, 1), 2)
	}},
	{"embedding", graph.ShapeOf(graph.Int32, 2, 3), 10, func(scope *model.Scope, x *mlgraph.Node) *mlgraph.Node {
		x = layers.Embedding(scope.In("table"), x, dtypes.Float32, 10, 4)
		return layers.DenseWithBias(scope.In("out"), mlgraph.Reshape(x, 2, -1), 2)
	}},
}

func (n network) function() gomlx.Build {
	return func(scope *model.Scope, inputs []*mlgraph.Node) []*mlgraph.Node {
		return []*mlgraph.Node{n.build(scope, inputs[0])}
	}
}

// data draws an input, for GoMLX and for package graph.
func (n network) data(r *rand.Rand) (*tensors.Tensor, *graph.Array) {
	if n.high > 0 {
		numbers := make([]int32, n.input.Size())
		for i := range numbers {
			numbers[i] = r.Int32N(int32(n.high))
		}
		return tensors.FromFlatDataAndDimensions(numbers, n.input.Dims...), graph.Int32s(numbers, n.input.Dims...)
	}
	numbers := make([]float32, n.input.Size())
	for i := range numbers {
		numbers[i] = float32(r.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(numbers, n.input.Dims...), graph.Float32s(numbers, n.input.Dims...)
}

// goBackend is GoMLX's own backend. Its ops run one after the other: in parallel, a sort whose comparator waits for a
// worker never ends if all workers are taken (compute v0.1.2).
func goBackend(t *testing.T) compute.Backend {
	b, err := gobackend.New("ops_sequential")
	require.NoError(t, err)
	t.Cleanup(b.Finalize)
	return b
}

// floats returns the numbers of an array.
var floats = graphtest.Floats

// numbers are a tensor's elements.
func numbers(t *testing.T, x *tensors.Tensor) (all []float64) {
	t.Helper()
	require.NoError(t, x.ConstFlatData(func(flat any) {
		for _, v := range flat.([]float32) {
			all = append(all, float64(v))
		}
	}))
	return all
}

// evaluate runs a model with GoMLX's own backend.
func evaluate(t *testing.T, b compute.Backend, store *model.Store, build gomlx.Build, x *tensors.Tensor) []float64 {
	t.Helper()
	exec, err := model.NewExec(b, store, build)
	require.NoError(t, err)
	defer exec.Finalize()
	out, err := exec.Call(x)
	require.NoError(t, err)
	result := numbers(t, out[0])
	require.NoError(t, x.ToLocal()) // GoMLX does not move tensors between backends
	for v := range store.IterVariables() {
		value, err := v.Value()
		require.NoError(t, err)
		require.NoError(t, value.ToLocal())
	}
	return result
}

// A recorded model computes what GoMLX's own backend does, with the values of its store: on the CPU, interpreted, and
// through the backend itself.
func TestModelsEqualGoMLX(t *testing.T) {
	client := xlatest.Open(t, 1)
	for i, n := range networks {
		t.Run(fmt.Sprintf("30.%d %s", 152+i, n.name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			theirs, ours := n.data(r)
			store := model.NewStore()
			require.NoError(t, store.SetRNGStateFromSeed(7))
			want := evaluate(t, goBackend(t), store, n.function(), theirs)

			m, err := gomlx.NewModel(store, n.function(), n.input)
			require.NoError(t, err)
			require.Equal(t, len(want), m.Outputs()[0].Size())
			params := m.Init(random.New(0))
			for _, b := range []xlabridge.Backend{client, &xlabridge.Reference{}} {
				f := xlabridge.Jit2(b, func(p map[string]*graph.Array, x *graph.Array) *graph.Array {
					return m.Call(p, random.New(0), x)[0]
				})
				got, err := f(params, ours)
				require.NoError(t, err)
				require.InDeltaSlice(t, want, floats(t, got), 1e-6, b.Backend())
			}
			require.InDeltaSlice(t, want, evaluate(t, gomlx.On(&xlabridge.Reference{}), store, n.function(), theirs),
				1e-6, "as a GoMLX backend")
		})
	}
}

// A population of models under VMap is a loop over members with GoMLX's own backend. Each member has its own draws.
func TestPopulationsEqualGoMLX(t *testing.T) {
	const members = 3
	client := xlatest.Open(t, 1)
	for i, n := range networks {
		t.Run(fmt.Sprintf("30.%d %s", 157+i, n.name), func(t *testing.T) {
			store := model.NewStore()
			m, err := gomlx.NewModel(store, n.function(), n.input)
			require.NoError(t, err)
			theirs, ours := n.data(rand.New(rand.NewPCG(2, uint64(i))))
			f := xlabridge.Jit(client, func(keys random.Key) graph.Pair[map[string]*graph.Array, *graph.Array] {
				return graph.VMap(func(key random.Key) graph.Pair[map[string]*graph.Array, *graph.Array] {
					p := m.Init(key)
					return graph.PairOf(p, m.Call(p, key, ours)[0])
				})(keys)
			})
			out, err := f(random.Split(random.New(3), members))
			require.NoError(t, err)
			params, results := out.Unpack()
			alone, err := graph.Eval(m.Init(random.Split(random.New(3), members).At(1)))
			require.NoError(t, err)
			b := goBackend(t)
			drawn := map[float64]bool{}
			for k := range members {
				for v := range store.IterVariables() {
					leaf, ok := params[v.Path()[1:]]
					if !ok {
						continue
					}
					all := floats(t, leaf.Index(k))
					if k == 1 {
						require.InDeltaSlice(t, floats(t, alone[v.Path()[1:]]), all, 1e-6, "drawn alone")
					}
					flat := make([]float32, len(all))
					for j, x := range all {
						flat[j] = float32(x)
					}
					require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(flat, v.Shape().Dimensions...)))
				}
				want := evaluate(t, b, store, n.function(), theirs)
				require.InDeltaSlice(t, want, floats(t, results.Index(k)), 1e-6)
				drawn[want[0]] = true
			}
			require.Len(t, drawn, members)
		})
	}
}

// Gradients of a recorded model are those that GoMLX builds.
func TestGradientsEqualGoMLX(t *testing.T) {
	for i, n := range networks {
		t.Run(fmt.Sprintf("30.%d %s", 162+i, n.name), func(t *testing.T) {
			theirs, ours := n.data(rand.New(rand.NewPCG(3, uint64(i))))
			store := model.NewStore()
			require.NoError(t, store.SetRNGStateFromSeed(9))
			b := goBackend(t)
			evaluate(t, b, store, n.function(), theirs) // draws the variables
			m, err := gomlx.NewModel(store, n.function(), n.input)
			require.NoError(t, err)
			grads, err := graph.Eval(graph.Grad(func(p map[string]*graph.Array) *graph.Array {
				return m.Call(p, random.New(0), ours)[0].Square().Sum()
			})(m.Init(random.New(0))))
			require.NoError(t, err)
			for name, got := range grads {
				gradient := func(scope *model.Scope, inputs []*mlgraph.Node) []*mlgraph.Node {
					loss := mlgraph.ReduceAllSum(mlgraph.Square(n.build(scope, inputs[0])))
					return mlgraph.Gradient(loss, store.GetVariable("/"+name).NodeValue(inputs[0].Graph()))
				}
				require.InDeltaSlice(t, evaluate(t, b, store, gradient, theirs), floats(t, got), 1e-5, name)
			}
		})
	}
}
