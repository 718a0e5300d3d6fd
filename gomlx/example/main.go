// Command example is xlarun with three networks of GoMLX as policies: --policy gomlx-mlp, gomlx-cnn and gomlx-elman.
package main

import (
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"

	"xlarun/cmd/xlarun/cli"
	"xlarun/gomlx"
	"xlarun/graph"
)

func init() {
	gomlx.Register("gomlx-mlp", mlp)
	gomlx.Register("gomlx-cnn", cnn)
	gomlx.RegisterRecurrent("gomlx-elman", elman, graph.ShapeOf(graph.Float32, 16))
}

func main() { cli.Main() }

// mlp has a hidden layer with a layer norm. Observations of any shape are flattened.
func mlp(scope *model.Scope, x *mlgraph.Node, outputs int) *mlgraph.Node {
	x = layers.DenseWithBias(scope.In("hidden"), mlgraph.Reshape(x, 1, -1), 16)
	x = mlgraph.Tanh(norm.LayerNorm(scope.In("norm"), x, -1).Done())
	return layers.DenseWithBias(scope.In("output"), x, outputs)
}

// cnn has a convolution, for pictures of height, width and channels.
func cnn(scope *model.Scope, x *mlgraph.Node, outputs int) *mlgraph.Node {
	x = layers.Convolution(scope.In("conv"), x).Channels(8).KernelSize(3).PadSame().Done()
	x = mlgraph.Reshape(activation.Relu(x), 1, -1)
	return layers.DenseWithBias(scope.In("output"), x, outputs)
}

// elman has a memory of 16 numbers: a layer over the observation and the memory of the step before.
func elman(scope *model.Scope, x *mlgraph.Node, carry []*mlgraph.Node, outputs int) (*mlgraph.Node, []*mlgraph.Node) {
	seen := mlgraph.Concatenate([]*mlgraph.Node{mlgraph.Reshape(x, 1, -1), carry[0]}, 1)
	memory := mlgraph.Tanh(layers.DenseWithBias(scope.In("memory"), seen, 16))
	return layers.DenseWithBias(scope.In("output"), memory, outputs), []*mlgraph.Node{memory}
}
