package rollout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/precision"
	"xlarun/rollout/population"
	"xlarun/rollout/train"
)

type metrics struct{ Loss, Largest *graph.Array }

// stepper minimizes the mean of (w - x)² over rows x of a minibatch. Rows are weighted by the minibatch's sum, so that
// a part needs the whole.
func stepper() train.Stepper[*graph.Array, *graph.Array, metrics] {
	zero := graph.Scalar(0)
	return train.Stepper[*graph.Array, *graph.Array, metrics]{
		Loss: func(minibatch *graph.Array) func(*graph.Array) train.Loss[*graph.Array, metrics] {
			weight := minibatch.Sum()
			return func(rows *graph.Array) train.Loss[*graph.Array, metrics] {
				return func(w *graph.Array) (*graph.Array, metrics) {
					loss := w.Sub(rows).Square().Mul(weight).Mean()
					return loss, metrics{loss, rows.ReduceMax(0)}
				}
			}
		},
		Optimizer: optim.SGD(.1), Zero: metrics{zero, zero}, Parts: 1, Sum: population.Tiles.PairSum,
	}
}

// scaled is a loss scale that changes.
var scaled = train.Scaled{LossScale: precision.Dynamic()}

// A step is the same for a whole minibatch, in tiles, in parts, and in tiles of parts, with and without a loss scale.
func TestStepInPieces(t *testing.T) {
	minibatch := graph.Float32s([]float32{1, 2, 3, 4, -5, 6, 7, 10})
	const weight, mean = 28, 3.5
	for _, scale := range []train.LossScale{train.NoScale{}, scaled} {
		for _, c := range []struct{ tiles, parts int }{{1, 1}, {1, 4}, {2, 1}, {4, 2}, {8, 1}} {
			s := stepper()
			s.Parts = c.parts
			if c.tiles > 1 {
				s.Tiles = population.CutTiles(c.tiles, 1, 1)
				s.Tiles.Alone, s.PerDevice = true, s.Tiles.Count()
			}
			start := train.State[*graph.Array]{Params: graph.Scalar(2), Optimizer: s.Optimizer.Init(graph.Scalar(2)),
				Scale: scale}
			next, result := s.Step(start, minibatch)
			gradient := 2 * weight * (2 - mean)
			got := floats(t, []*graph.Array{next.Params, result.GradientNorm, result.Metrics.Loss})
			want := []float64{2 - .1*gradient, math.Abs(gradient), weight * (1 + 0 + 1 + 4 + 49 + 16 + 25 + 64) / 8.}
			require.InDeltaSlice(t, want, got, 1e-3, "%v, scale %T", c, scale)
			require.Equal(t, []float64{1}, floats(t, result.Finite))
			if c.tiles*c.parts == 8 { // the mean of the largest rows of single rows
				require.InDelta(t, mean, floats(t, result.Metrics.Largest)[0], 1e-6)
			}
			apart := s.Gradient(start, minibatch)
			require.InDelta(t, gradient, floats(t, apart.Params)[0], 1e-3)
		}
	}
}

// A gradient that is not finite changes no parameter and halves the loss scale.
func TestStepWithoutGradient(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1e30} {
		s := stepper()
		start := train.State[*graph.Array]{Params: graph.Scalar(2), Optimizer: s.Optimizer.Init(graph.Scalar(2)),
			Scale: scaled}
		next, result := s.Step(start, graph.Float32s([]float32{1, bad}))
		require.Equal(t, []float64{2, 0, 1 << 14}, floats(t, []*graph.Array{next.Params, result.Finite,
			next.Scale.Factor()}))
	}
}

// NoScale has no leaves, and Scaled has those of precision.LossScale under their names, so that earlier states can be
// read.
func TestLossScaleLeaves(t *testing.T) {
	type state struct{ Scale train.LossScale }
	require.Empty(t, graph.Leaves(state{train.NoScale{}}))
	leaves, tree := graph.Flatten(state{scaled})
	require.Len(t, leaves, 2)
	require.Equal(t, ".Scale.Value", tree.Path(0))
	require.Equal(t, ".Scale.Good", tree.Path(1))
}
