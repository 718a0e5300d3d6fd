package gomlx_test

import (
	"testing"

	"github.com/gomlx/compute"
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/require"

	"xlarun/gomlx"
	"xlarun/xlabridge/xlatest"
)

// GoMLX's trainer, with its own derivatives and its Adam, makes the same steps on this backend as on GoMLX's own.
func TestTrainer(t *testing.T) {
	t.Run("twenty steps of Adam", func(t *testing.T) {
		inputs := []float32{-1, 2, .5, 1, .25, -3, 2, 2, 1, 0, -.5, 1}
		labels := []float32{1, -2, .5, 0, 3, 1}
		net := func(scope *model.Scope, _ any, x []*mlgraph.Node) []*mlgraph.Node {
			hidden := mlgraph.Tanh(layers.DenseWithBias(scope.In("hidden").WithInitializer(mlgraph.Ones), x[0], 4))
			return []*mlgraph.Node{layers.DenseWithBias(scope.In("output").WithInitializer(mlgraph.Ones), hidden, 1)}
		}
		losses := func(b compute.Backend) (all []float64) {
			trainer := train.NewTrainer(b, model.NewStore(), net, loss.MeanSquaredError,
				optimizer.Adam().LearningRate(.05).Done(), nil, nil)
			for range 20 {
				metrics, err := trainer.TrainStep(train.Batch{
					Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(inputs, 6, 2)},
					Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(labels, 6, 1)}})
				require.NoError(t, err)
				all = append(all, numbers(t, metrics[0])[0])
			}
			return all
		}
		want := losses(goBackend(t))
		require.Less(t, want[19], want[0]/2)
		require.InDeltaSlice(t, want, losses(gomlx.On(xlatest.Open(t, 1))), 1e-4)
	})
}
