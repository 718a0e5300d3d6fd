package optim

import (
	"slices"

	"xlarun/graph"
)

// FactoredState is the state of ScaleByFactoredRMS: averages of the squared gradients. Leaves that are factored have
// their means along the larger of their two largest axes in Row and along the other one in Column, and a scalar in
// Full; others have the whole in Full.
type FactoredState struct {
	Count             *graph.Array // int32 scalar: steps taken
	Row, Column, Full any
}

type factoredRMS struct{ c config }

// ScaleByFactoredRMS divides gradients by the root of an average of their squares, of which large leaves keep only
// the means along two axes (Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost",
// 2018). Its state is a FactoredState. Options: Decay (step t decays the average by 1 - t^-Decay, default 0.8),
// FactoredFrom (default 128), Eps (added to the squares, default 1e-30).
func ScaleByFactoredRMS(opts ...Option) Transform {
	c := configure("ScaleByFactoredRMS", config{decay: .8, factoredFrom: 128, eps: 1e-30}, opts, "Decay",
		"FactoredFrom", "Eps")
	return factoredRMS{c}
}

// ClipByBlockRMS scales the updates of each leaf so that their root mean square is at most the threshold.
func ClipByBlockRMS(threshold any) Transform {
	most := number("ClipByBlockRMS", threshold)
	return Stateless(func(g, _ *graph.Array) *graph.Array {
		rms := rootMeanSquare(g)
		return g.Div(cast(rms.Div(like(most, rms)).Max(1), g))
	})
}

// ScaleByParamBlockRMS multiplies the updates of each leaf by the root mean square of its parameters, at least 1e-3.
func ScaleByParamBlockRMS() Transform {
	return Stateless(func(g, p *graph.Array) *graph.Array { return g.Mul(cast(rootMeanSquare(p).Max(1e-3), g)) })
}

func rootMeanSquare(x *graph.Array) *graph.Array { return x.Convert(wide(x)).Square().Mean().Sqrt() }

// Adafactor is ScaleByFactoredRMS, clipped to a root mean square of 1, times the learning rate and the root mean
// square of each leaf's parameters. Options: ScaleByFactoredRMS's, Momentum (the decay rate of an average of the
// updates, default none), WeightDecay (not times the learning rate, default none), DecayMask.
func Adafactor(learningRate any, opts ...Option) Transform {
	defaults := config{decay: .8, factoredFrom: 128, eps: 1e-30}
	c := configure("Adafactor", defaults, opts, "Decay", "FactoredFrom", "Eps", "Momentum", "WeightDecay",
		"DecayMask")
	parts := []Transform{factoredRMS{c}, ClipByBlockRMS(1), ScaleByLearningRate(learningRate), ScaleByParamBlockRMS()}
	if c.momentum != nil {
		parts = append(parts, EMA(c.momentum, false))
	}
	if c.weightDecay != nil {
		parts = append(parts, AddDecayedWeights(mul(-1., c.weightDecay), c.mask))
	}
	return Chain(parts...)
}

// axes are the second largest and the largest axis of a leaf, if it is factored.
func (f factoredRMS) axes(dims []int) (second, first int, ok bool) {
	if len(dims) < 2 {
		return 0, 0, false
	}
	order := make([]int, len(dims))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return dims[a] - dims[b] })
	second, first = order[len(order)-2], order[len(order)-1]
	return second, first, dims[second] >= f.c.factoredFrom
}

func (f factoredRMS) Init(params any) State {
	leaves, tree := graph.Flatten(zeros(params, 0))
	row, column, full := slices.Clone(leaves), slices.Clone(leaves), slices.Clone(leaves)
	for i, p := range leaves {
		none := graph.Zeros(graph.ShapeOf(p.DType()))
		if second, first, ok := f.axes(p.Dims()); ok {
			row[i], column[i], full[i] = p.Sum(first), p.Sum(second), none
		} else {
			row[i], column[i] = none, none
		}
	}
	return FactoredState{zeroCount(), tree.Unflatten(row), tree.Unflatten(column), tree.Unflatten(full)}
}

func (f factoredRMS) Update(grads any, state State, params any) (any, State) {
	const op = "optim.Adafactor"
	s := stateOf[FactoredState](op, state)
	checkSame(op, "the gradients", grads, "the parameters", params)
	leaves, tree := graph.Flatten(grads)
	row, column, full := graph.Leaves(s.Row), graph.Leaves(s.Column), graph.Leaves(s.Full)
	if len(row) != len(leaves) || len(column) != len(leaves) || len(full) != len(leaves) {
		graph.Throw(op, "got gradients of %d leaves and a state of %d, want the state that Init made for these "+
			"parameters", len(leaves), len(full))
	}
	count := increment(s.Count)
	decay := graph.Sub(1, graph.Pow(count.Convert(graph.Float32), graph.Neg(f32(inType(f.c.decay, graph.Float32)))))
	updates := slices.Clone(leaves)
	for i, g := range leaves {
		if !isFloat(g) {
			continue
		}
		square := g.Square().Add(like(f.c.eps, g))
		second, first, ok := f.axes(g.Dims())
		if !ok {
			full[i] = cast(moment(square, full[i], decay), full[i])
			updates[i] = g.Mul(full[i].Rsqrt())
			continue
		}
		row[i] = cast(moment(square.Mean(first), row[i], decay), row[i])
		column[i] = cast(moment(square.Mean(second), column[i], decay), column[i])
		along := second // the second axis in the row, which lacks the first
		if second > first {
			along--
		}
		rows := row[i].Div(row[i].Mean(along).ExpandDims(along)).Rsqrt()
		updates[i] = g.Mul(rows.ExpandDims(first)).Mul(column[i].Rsqrt().ExpandDims(second))
	}
	return tree.Unflatten(updates), FactoredState{count, tree.Unflatten(row), tree.Unflatten(column),
		tree.Unflatten(full)}
}
