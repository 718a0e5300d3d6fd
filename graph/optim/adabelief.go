package optim

import "xlarun/graph"

type scaleByBelief struct{ c config }

// ScaleByBelief is ScaleByAdam with the average of the squared differences between the gradients and their average
// (Zhuang et al., "AdaBelief optimizer: adapting stepsizes by the belief in observed gradients", 2020). Its state is
// an AdamState. Options: B1, B2, Eps (default 1e-16), EpsRoot (added to the average at each step, default 1e-16),
// Nesterov.
func ScaleByBelief(opts ...Option) Transform {
	c, err := configure("ScaleByBelief", config{b1: .9, b2: .999, eps: 1e-16, epsRoot: 1e-16}, opts, "B1", "B2", "Eps",
		"EpsRoot", "Nesterov")
	if err != nil {
		return refuse(err)
	}
	return scaleByBelief{c}
}

// AdaBelief is ScaleByBelief times the learning rate; the same options.
func AdaBelief(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByBelief(opts...), ScaleByLearningRate(learningRate))
}

func (a scaleByBelief) Init(params any) State { return scaleByAdam(a).Init(params) }

func (a scaleByBelief) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.AdaBelief"
	s := stateOf[AdamState](op, state)
	count := increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array {
		return moment(x[0].Sub(x[1]).Square(), x[2], a.c.b2).Add(like(a.c.epsRoot, x[2]))
	}, grads, mu, s.Nu)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		m, root := a.c.direction(x[0], x[1], count), debias(x[2], a.c.b2, count).Sqrt()
		return m.Div(root.Add(like(a.c.eps, root)))
	}, grads, mu, nu)
	return updates, AdamState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu)}
}
