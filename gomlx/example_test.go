package gomlx_test

import (
	"fmt"

	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"

	"xlarun/gomlx"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// A hundred GoMLX networks, each with weights of its own, are one program.
func ExampleNewModel() {
	net := func(scope *model.Scope, inputs []*mlgraph.Node) []*mlgraph.Node {
		x := mlgraph.Tanh(layers.DenseWithBias(scope.In("hidden"), inputs[0], 8))
		return []*mlgraph.Node{layers.DenseWithBias(scope.In("output"), x, 2)}
	}
	m, err := gomlx.NewModel(nil, net, graph.ShapeOf(graph.Float32, 1, 4))
	if err != nil {
		panic(err)
	}
	member := func(key random.Key) *graph.Array {
		return m.Call(m.Init(key), key, graph.Float32s([]float32{1, 2, 3, 4}, 1, 4))[0]
	}
	run := xlabridge.Jit(&xlabridge.Reference{}, graph.VMap(member))
	outputs, err := run(random.Split(random.New(0), 100))
	if err != nil {
		panic(err)
	}
	fmt.Println(outputs.Shape(), m.Parameters()["hidden/dense/weights"])
	// Output: f32[100,1,2] f32[4,8]
}
