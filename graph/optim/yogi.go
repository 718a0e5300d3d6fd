package optim

import "xlarun/graph"

type scaleByYogi struct{ c config }

// ScaleByYogi is ScaleByAdam with an average of the squares that moves by a fixed fraction of the squared gradient
// (Zaheer et al., "Adaptive methods for nonconvex optimization", 2018). Its state is an AdamState. Options: B1, B2,
// Eps (default 1e-3), EpsRoot, Initial (both averages before the first step, default 1e-6).
func ScaleByYogi(opts ...Option) Transform {
	c, err := configure("ScaleByYogi", config{b1: .9, b2: .999, eps: 1e-3, epsRoot: 0., initial: 1e-6}, opts, "B1",
		"B2", "Eps", "EpsRoot", "Initial")
	if err != nil {
		return refuse(err)
	}
	return scaleByYogi{c}
}

// Yogi is ScaleByYogi times the learning rate; the same options.
func Yogi(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByYogi(opts...), ScaleByLearningRate(learningRate))
}

func (a scaleByYogi) Init(params any) State {
	start := zip("optim.Yogi", func(x []*graph.Array) *graph.Array {
		return x[0].Add(like(a.c.initial, x[0]))
	}, zeros(params, 0))
	return AdamState{zeroCount(), start, start}
}

func (a scaleByYogi) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Yogi"
	s := stateOf[AdamState](op, state)
	count := increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array {
		square := x[0].Square()
		return x[1].Sub(graph.Mul(like(sub(1., a.c.b2), square), x[1].Sub(square).Sign().Mul(square)))
	}, grads, s.Nu)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		v := debias(x[1], a.c.b2, count)
		root := v.Add(like(a.c.epsRoot, v)).Sqrt()
		return debias(x[0], a.c.b1, count).Div(root.Add(like(a.c.eps, root)))
	}, mu, nu)
	return updates, AdamState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu)}
}
