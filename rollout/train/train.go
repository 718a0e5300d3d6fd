// Package train takes steps of an optimizer by the gradients of minibatches. A minibatch may be cut into tiles, which
// several devices compute, and a tile into parts, which need less memory. Gradients that are not finite move nothing.
//
//	stepper := train.Stepper[Params, *graph.Array, Losses]{Loss: loss, Optimizer: adam, Zero: Losses{…}, Parts: 1}
//	state := train.State[Params]{params, adam.Init(params), train.NoScale{}}
//	state, result := stepper.Step(state, rows)
//
// An algorithm that changes the mean gradient before it is applied calls Gradient and Apply instead of Step.
package train

import (
	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/rollout/population"
)

// State is the carry from one step to the next. P is the tree of parameters.
type State[P any] struct {
	Params    P
	Optimizer optim.State
	Scale     LossScale
}

// Loss returns the loss of some rows, f32[], and metrics of them, a tree of f32[].
type Loss[P, M any] func(params P) (*graph.Array, M)

// Stepper takes steps of an optimizer. P is the tree of parameters. B is a minibatch, or rows of one: a tree whose
// leaves have the rows on axis 0. M is a tree of metrics, each f32[].
type Stepper[P, B, M any] struct {
	// Loss returns the loss of rows of a minibatch, in three steps: with the whole minibatch, once for each tile; with
	// the rows, once for each part; and with the parameters.
	Loss      func(minibatch B) func(rows B) Loss[P, M]
	Optimizer optim.Transform
	Zero      M   // metrics that are all 0
	Parts     int // of a tile, computed one after the other; 1: all at once

	// Tiles are the tiles of a minibatch, one tile an item. The zero value is one tile: then the fields below are not
	// used. The result does not depend on the number of devices.
	Tiles population.Tiles
	// PerDevice is i32[], the value of Tiles.Count, as an input of the program.
	PerDevice *graph.Array
	// Sum adds up the rows of all devices: population.Tiles.PairSum, for 2, 4, 8 … tiles, or population.Tiles.Sum.
	Sum func(tiles population.Tiles, rows *graph.Array) *graph.Array
}

// Gradients are the mean gradient of a minibatch and the means of its metrics.
type Gradients[P, M any] struct {
	Params  P
	Metrics M
}

// Result says how a step went.
type Result[M any] struct {
	Metrics      M
	GradientNorm *graph.Array // f32[], before the optimizer cuts it
	Finite       *graph.Array // bool[]; where it is false, parameters and optimizer stayed as they were
}

// Step takes one step by the gradient of a minibatch.
func (s Stepper[P, B, M]) Step(state State[P], minibatch B) (State[P], Result[M]) {
	if s.Tiles.Items <= 1 {
		return s.Apply(state, s.Gradient(state, minibatch))
	}
	layout, sum := s.sumOfTiles(state, minibatch)
	carry := graph.PairOf(state, Result[M]{s.Zero, graph.Scalar(0), graph.Scalar(false)})
	type next = graph.Pair[State[P], Result[M]]
	return graph.Isolate(s.PerDevice, carry, sum, func(carry next, sum *graph.Array) next {
		return graph.PairOf(s.Apply(carry.First, s.meanOf(layout, sum)))
	}).Unpack()
}

// Gradient returns the mean gradient of a minibatch.
func (s Stepper[P, B, M]) Gradient(state State[P], minibatch B) Gradients[P, M] {
	if s.Tiles.Items <= 1 {
		return s.inParts(state, s.Loss(minibatch), minibatch)
	}
	return s.meanOf(s.sumOfTiles(state, minibatch))
}

// Apply moves the parameters by a mean gradient, unless it is not finite, and adjusts the loss scale.
func (s Stepper[P, B, M]) Apply(state State[P], mean Gradients[P, M]) (State[P], Result[M]) {
	norm := optim.GlobalNorm(optim.Joined(mean.Params))
	finite := norm.IsFinite()
	state.Params, state.Optimizer = optim.StepIf(finite, s.Optimizer, state.Params, mean.Params, state.Optimizer)
	state.Scale = state.Scale.Adjust(finite)
	return state, Result[M]{mean.Metrics, norm, finite}
}

// sumOfTiles returns the sum of the gradients and metrics of all tiles, as a vector f32[n] with a layout.
func (s Stepper[P, B, M]) sumOfTiles(state State[P], minibatch B) (*population.Layout, *graph.Array) {
	type inputs struct {
		Params    P
		Scale     LossScale
		Minibatch B
		Local     *graph.Array
	}
	layout := population.LayoutOf(Gradients[P, M]{state.Params, s.Zero})
	first := s.Tiles.First()
	tile := func(local *graph.Array) *graph.Array {
		in := graph.Once(inputs{state.Params, state.Scale, minibatch, local})
		rows := graph.MapTree(func(a *graph.Array) *graph.Array {
			tiles := a.SplitAxis(0, s.Tiles.Items, a.Dim(0)/s.Tiles.Items)
			return graph.DynamicIndex(tiles, first.Add(in.Local), 0)
		}, in.Minibatch)
		tileState := State[P]{Params: in.Params, Scale: in.Scale}
		return layout.Ravel(s.inParts(tileState, s.Loss(in.Minibatch), rows))
	}
	vectors := population.Each(s.Tiles, s.PerDevice, s.Tiles.Rows(graph.Float32, layout.Size()), tile)
	return layout, s.Sum(s.Tiles, vectors)
}

// meanOf reads the mean over the tiles out of their sum.
func (s Stepper[P, B, M]) meanOf(layout *population.Layout, sum *graph.Array) Gradients[P, M] {
	return layout.Unravel(sum.Div(float64(s.Tiles.Items))).(Gradients[P, M])
}

// inParts returns the mean gradient of rows, computed part by part.
func (s Stepper[P, B, M]) inParts(state State[P], loss func(rows B) Loss[P, M], rows B) Gradients[P, M] {
	if s.Parts <= 1 {
		return gradientOf(state, loss(graph.Once(rows)))
	}
	parts := graph.MapTree(func(a *graph.Array) *graph.Array {
		return a.SplitAxis(0, s.Parts, a.Dim(0)/s.Parts)
	}, rows)
	add := func(mean, x *graph.Array) *graph.Array { return mean.Add(x.Div(float64(s.Parts))) }
	zero := graph.ZerosLikeTree(Gradients[P, M]{state.Params, s.Zero})
	mean, _ := graph.Scan(func(mean Gradients[P, M], part B) (Gradients[P, M], graph.None) {
		return graph.MapTree2(add, mean, gradientOf(state, loss(graph.Once(part)))), graph.None{}
	}, zero, parts, graph.LoopName(PartsLoop))
	return mean
}

// gradientOf differentiates a loss, under the loss scale.
func gradientOf[P, M any](state State[P], loss Loss[P, M]) Gradients[P, M] {
	scaled := func(params P, _ graph.None) (*graph.Array, M) {
		l, metrics := loss(params)
		return state.Scale.Scale(l), metrics
	}
	_, metrics, gradient := graph.ValueAndGradAux(scaled)(state.Params, graph.None{})
	return Gradients[P, M]{state.Scale.Unscale(gradient).(P), metrics}
}

// PartsLoop is the name of the loop over a tile's parts; see graph.Node.LoopName.
const PartsLoop = "parts"
