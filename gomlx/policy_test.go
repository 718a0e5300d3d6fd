package gomlx_test

import (
	"math"
	"testing"

	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/gomlx"
	"xlarun/graph"
	"xlarun/graph/random"
)

// counter has a memory of three numbers and one that counts the steps.
func counter(scope *model.Scope, x *mlgraph.Node, carry []*mlgraph.Node, outputs int) (*mlgraph.Node,
	[]*mlgraph.Node) {
	seen := mlgraph.Concatenate([]*mlgraph.Node{x, carry[0]}, 1)
	memory := mlgraph.Tanh(layers.DenseWithBias(scope.In("memory"), seen, 3))
	return layers.DenseWithBias(scope.In("output"), memory, outputs),
		[]*mlgraph.Node{memory, mlgraph.AddScalar(carry[1], 1)}
}

var pair = envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{2}, DType: graph.Float32}

// A network with memory, stepped by Scan, is a loop in Go. Under VMap members have memories of their own.
func TestRecurrentPolicy(t *testing.T) {
	p, err := gomlx.NewRecurrentPolicy(counter, []graph.Shape{graph.ShapeOf(graph.Float32, 3),
		graph.ShapeOf(graph.Int32)}, pair, 2)
	require.NoError(t, err)
	observations := graph.Float32s([]float32{.5, -1, 2, 0, -.25, 1, 1, 1}, 4, 2)
	play := func(params any) graph.Pair[*graph.Array, any] {
		last, out := graph.Scan(func(carry any, x *graph.Array) (any, *graph.Array) {
			next, out := p.Act(params, carry, x, random.New(0))
			return next, out.Action
		}, p.Start(params), observations)
		return graph.PairOf(out, last)
	}
	keys := random.Split(random.New(1), 2)
	both, err := graph.Eval(graph.VMap(func(key random.Key) graph.Pair[*graph.Array, any] {
		return play(p.Init(key))
	})(keys))
	require.NoError(t, err)
	outputs, carry := both.Unpack()
	require.Equal(t, []float64{4, 4}, floats(t, carry.([]*graph.Array)[1]))
	for member := range 2 {
		params := p.Init(keys.At(member)).(map[string]*graph.Array)
		read := func(name string) []float64 { return floats(t, params[name]) }
		w, b := read("memory/dense/weights"), read("memory/dense/biases")
		v, c := read("output/dense/weights"), read("output/dense/biases")
		x, h := floats(t, observations), make([]float64, 3)
		var want []float64
		for step := range 4 {
			seen := append(append([]float64{}, x[2*step:2*step+2]...), h...)
			for j := range h {
				sum := b[j]
				for i, s := range seen {
					sum += s * w[3*i+j]
				}
				h[j] = math.Tanh(sum)
			}
			for k := range 2 {
				sum := c[k]
				for j := range h {
					sum += h[j] * v[2*j+k]
				}
				want = append(want, sum)
			}
		}
		require.InDeltaSlice(t, want, floats(t, outputs.Index(member)), 1e-6)
	}
}

// A next carry of other shapes, a carry of another type.
func TestRecurrentPolicyRefuses(t *testing.T) {
	forgetful := func(scope *model.Scope, x *mlgraph.Node, _ []*mlgraph.Node, outputs int) (*mlgraph.Node,
		[]*mlgraph.Node) {
		return layers.DenseWithBias(scope.In("output"), x, outputs), nil
	}
	carry := []graph.Shape{graph.ShapeOf(graph.Float32, 3)}
	_, err := gomlx.NewRecurrentPolicy(forgetful, carry, pair, 2)
	require.ErrorContains(t, err, "a GoMLX network whose next carry is [], want the shapes of its carry, [f32[1,3]]")
	p, err := gomlx.NewRecurrentPolicy(counter, append(carry, graph.ShapeOf(graph.Int32)), pair, 2)
	require.NoError(t, err)
	err = graph.Try(func() {
		p.Act(p.Init(random.New(0)), graph.None{}, graph.Float32s([]float32{1, 2}), random.New(0))
	})
	require.ErrorContains(t, err, "got a carry of type graph.None, want 2 arrays")
}
