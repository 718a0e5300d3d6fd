package optim

import (
	"math"

	"xlarun/graph"
)

// MultiStepsState is the state of MultiSteps.
type MultiStepsState struct {
	MiniStep     *graph.Array // int32 scalar in [0, every): gradients in Mean
	GradientStep *graph.Array // int32 scalar: steps of the inner optimizer
	Inner        State
	Mean         any // of the gradients since the last step, like the parameters, in float32 at least
}

type multiSteps struct {
	inner Transform
	every int
}

// MultiSteps accumulates gradients: after the given number of calls the inner optimizer gets their mean. In the other
// calls the updates are zero and its state does not change. A NaN counts in the one mean that it is part of; in
// optax.MultiSteps, which multiplies by 0 where this selects, it stays.
func MultiSteps(inner Transform, every int) Transform {
	wantTransform("MultiSteps", inner)
	if every < 1 || every > math.MaxInt32 {
		refuse("MultiSteps: got a step every %d gradients, want from 1 to %d", every, math.MaxInt32)
	}
	return multiSteps{inner, every}
}

func (m multiSteps) Init(params any) State {
	mean := graph.MapTree(func(a *graph.Array) *graph.Array {
		if isFloat(a) {
			return graph.Zeros(graph.ShapeOf(wide(a), a.Dims()...))
		}
		return graph.ZerosLike(a)
	}, params)
	return MultiStepsState{zeroCount(), zeroCount(), m.inner.Init(params), mean}
}

func (m multiSteps) Update(grads any, state State, params any) (any, State) {
	const op = "optim.MultiSteps"
	s := stateOf[MultiStepsState](op, state)
	mean := zip(op, func(x []*graph.Array) *graph.Array {
		g, acc := cast(x[0], x[1]), x[1]
		return acc.Add(g.Sub(acc).Div(cast(s.MiniStep.Add(1), acc)))
	}, grads, s.Mean)
	updates, inner := m.inner.Update(keep(op, mean, grads), s.Inner, params)
	last := s.MiniStep.Eq(m.every - 1)
	either := func(yes, no *graph.Array) *graph.Array { return graph.Select(last, yes, no) }
	orZero := func(x []*graph.Array) *graph.Array { return either(x[0], graph.ZerosLike(x[0])) }
	next := MultiStepsState{
		MiniStep:     either(zeroCount(), s.MiniStep.Add(1)),
		GradientStep: either(increment(s.GradientStep), s.GradientStep),
		Inner:        graph.MapTree2(either, inner, s.Inner),
		Mean:         zip(op, func(x []*graph.Array) *graph.Array { return either(graph.ZerosLike(x[0]), x[0]) }, mean),
	}
	return zip(op, orZero, updates), next
}
