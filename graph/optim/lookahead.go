package optim

import (
	"math"

	"xlarun/graph"
)

// LookaheadState is the state of Lookahead.
type LookaheadState struct {
	Inner State
	Count *graph.Array // int32 scalar: steps since the slow parameters moved
	Slow  any          // the slow parameters
}

type lookahead struct {
	inner Transform
	every int
	rate  any
}

// Lookahead runs an optimizer and, after so many steps, moves slow parameters toward the fast ones by a rate and
// sets the fast ones to them (Zhang et al., "Lookahead optimizer: k steps forward, 1 step back", 2019). The
// parameters of the caller are the fast ones; Slow of the state, a LookaheadState, are those to evaluate.
func Lookahead(inner Transform, every int, rate any) Transform {
	wantTransform("Lookahead", inner)
	if every < 1 || every > math.MaxInt32 {
		refuse("Lookahead: got %d steps, want from 1 to %d", every, math.MaxInt32)
	}
	return lookahead{inner, every, number("Lookahead", rate)}
}

func (l lookahead) Init(params any) State {
	return LookaheadState{l.inner.Init(params), zeroCount(), params}
}

func (l lookahead) Update(grads any, state State, params any) (any, State) {
	const op = "optim.Lookahead"
	s := stateOf[LookaheadState](op, state)
	fast, inner := l.inner.Update(grads, s.Inner, params)
	sync := s.Count.Eq(l.every - 1)
	slow := zip(op, func(x []*graph.Array) *graph.Array {
		param, update, old := x[0], x[1], x[2]
		apart := param.Add(update).Sub(old)
		return graph.Select(sync, cast(old.Add(graph.Mul(like(l.rate, apart), apart)), old), old)
	}, params, fast, s.Slow)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		return graph.Select(sync, x[2].Sub(x[1]), x[0])
	}, fast, params, slow)
	return updates, LookaheadState{inner, graph.Select(sync, 0, s.Count.Add(1)), slow}
}
