package optim

import (
	"math"

	"xlarun/graph"
)

// ZeroNaNs replaces NaNs in the updates by 0. Its state is a NaNState.
func ZeroNaNs() Transform { return zeroNaNs{} }

// NaNState is the state of ZeroNaNs.
type NaNState struct {
	Found any // like the parameters, a bool scalar for each leaf: whether the last updates had a NaN there
}

type zeroNaNs struct{}

func (zeroNaNs) Init(params any) State {
	return NaNState{graph.MapTree(func(*graph.Array) *graph.Array {
		return graph.Scalar(false)
	}, params)}
}

func (zeroNaNs) Update(grads any, state State, _ any) (any, State) {
	stateOf[NaNState]("optim.ZeroNaNs", state)
	found := graph.MapTree(func(g *graph.Array) *graph.Array {
		if !isFloat(g) {
			return graph.Scalar(false)
		}
		return g.IsNaN().Any()
	}, grads)
	return zip("optim.ZeroNaNs", func(x []*graph.Array) *graph.Array {
		return graph.Select(x[0].IsNaN(), 0, x[0])
	}, grads), NaNState{found}
}

// FiniteState is the state of ApplyIfFinite.
type FiniteState struct {
	Inner State
	Row   *graph.Array // int32 scalar: consecutive steps whose gradients were not finite
	Total *graph.Array // int32 scalar: all steps whose gradients were not finite
	Last  *graph.Array // bool scalar: whether the last gradients were finite
}

type applyIfFinite struct {
	inner Transform
	most  int
}

// ApplyIfFinite skips steps whose gradients have a NaN or an infinity: updates are zero and the inner transform's state
// does not change. After more than most such steps in a row it applies them, so that training fails visibly.
func ApplyIfFinite(inner Transform, most int) Transform {
	wantTransform("ApplyIfFinite", inner)
	if most < 0 || most > math.MaxInt32 {
		refuse("ApplyIfFinite: got at most %d steps in a row, want from 0 to %d", most, math.MaxInt32)
	}
	return applyIfFinite{inner, most}
}

func (a applyIfFinite) Init(params any) State {
	return FiniteState{a.inner.Init(params), zeroCount(), zeroCount(), graph.Scalar(true)}
}

func (a applyIfFinite) Update(grads any, state State, params any) (any, State) {
	const op = "optim.ApplyIfFinite"
	s := stateOf[FiniteState](op, state)
	finite := graph.Scalar(true)
	for _, g := range graph.Leaves(grads) {
		if isFloat(g) {
			finite = finite.And(g.IsFinite().All())
		}
	}
	row := graph.Select(finite, zeroCount(), increment(s.Row))
	apply := finite.Or(row.Gt(a.most))
	updates, inner := a.inner.Update(grads, s.Inner, params)
	either := func(yes, no *graph.Array) *graph.Array { return graph.Select(apply, yes, no) }
	updates = zip(op, func(x []*graph.Array) *graph.Array { return either(x[0], graph.ZerosLike(x[0])) }, updates)
	return updates, FiniteState{graph.MapTree2(either, inner, s.Inner), row,
		graph.Select(finite, s.Total, increment(s.Total)), finite}
}
