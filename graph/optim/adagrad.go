package optim

import "xlarun/graph"

// SquaresState is the state of ScaleByRSS.
type SquaresState struct {
	Sum any // sums of the squared gradients, like the parameters
}

type scaleByRSS struct{ c config }

// ScaleByRSS divides gradients by the root of the sum of their squares (Duchi et al., "Adaptive subgradient methods
// for online learning and stochastic optimization", 2011). Its state is a SquaresState. Options: Initial (the sum
// before the first step, default 0.1), Eps (under the root, default 1e-7).
func ScaleByRSS(opts ...Option) Transform {
	c := configure("ScaleByRSS", config{initial: .1, eps: 1e-7}, opts, "Initial", "Eps")
	return scaleByRSS{c}
}

// Adagrad is ScaleByRSS times the learning rate; the same options.
func Adagrad(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByRSS(opts...), ScaleByLearningRate(learningRate))
}

func (a scaleByRSS) Init(params any) State {
	start := zip("optim.Adagrad", func(x []*graph.Array) *graph.Array {
		return x[0].Add(like(a.c.initial, x[0]))
	}, zeros(params, 0))
	return SquaresState{start}
}

func (a scaleByRSS) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Adagrad"
	s := stateOf[SquaresState](op, state)
	sum := zip(op, func(x []*graph.Array) *graph.Array { return x[0].Square().Add(x[1]) }, grads, s.Sum)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		positive := x[1].Gt(0)
		root := graph.Select(positive, x[1], 1).Add(like(a.c.eps, x[1])).Rsqrt()
		return graph.Select(positive, root, 0).Mul(x[0])
	}, grads, sum)
	return updates, SquaresState{keep(op, sum, s.Sum)}
}

// AdadeltaState is the state of ScaleByAdadelta.
type AdadeltaState struct {
	Gradients any // average of their squares, like the parameters
	Updates   any // average of their squares, like the parameters
}

type scaleByAdadelta struct{ c config }

// ScaleByAdadelta multiplies gradients by the root of the average of the squared updates over that of the squared
// gradients (Zeiler, "Adadelta: an adaptive learning rate method", 2012). Its state is an AdadeltaState. Options:
// Decay (of both averages, default 0.9), Eps (under both roots, default 1e-6).
func ScaleByAdadelta(opts ...Option) Transform {
	c := configure("ScaleByAdadelta", config{decay: .9, eps: 1e-6}, opts, "Decay", "Eps")
	return scaleByAdadelta{c}
}

// Adadelta is ScaleByAdadelta times the learning rate; the same options.
func Adadelta(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByAdadelta(opts...), ScaleByLearningRate(learningRate))
}

func (a scaleByAdadelta) Init(params any) State {
	return AdadeltaState{zeros(params, 0), zeros(params, 0)}
}

func (a scaleByAdadelta) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Adadelta"
	s := stateOf[AdadeltaState](op, state)
	average := func(x []*graph.Array) *graph.Array { return moment(x[0].Square(), x[1], a.c.decay) }
	gradients := zip(op, average, grads, s.Gradients)
	root := func(x *graph.Array) *graph.Array { return x.Add(like(a.c.eps, x)).Sqrt() }
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		return root(x[2]).Div(root(x[1])).Mul(x[0])
	}, grads, gradients, s.Updates)
	next := zip(op, average, updates, s.Updates)
	return updates, AdadeltaState{keep(op, gradients, s.Gradients), keep(op, next, s.Updates)}
}
