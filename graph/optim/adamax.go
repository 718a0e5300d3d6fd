package optim

import "xlarun/graph"

type scaleByAdamax struct{ c config }

// ScaleByAdamax divides the average of the gradients by a decaying maximum of their magnitudes (Kingma and Ba,
// "Adam: a method for stochastic optimization", 2015, section 7.1). Its state is an AdamState. Options: B1, B2, Eps.
func ScaleByAdamax(opts ...Option) Transform {
	c, err := configure("ScaleByAdamax", config{b1: .9, b2: .999, eps: 1e-8}, opts, "B1", "B2", "Eps")
	if err != nil {
		return refuse(err)
	}
	return scaleByAdamax{c}
}

// Adamax is ScaleByAdamax times the learning rate, with decoupled weight decay. Options: B1, B2, Eps, WeightDecay
// (default 0), DecayMask.
func Adamax(learningRate any, opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-8}
	c, err := configure("Adamax", defaults, opts, "B1", "B2", "Eps", "WeightDecay", "DecayMask")
	if err != nil {
		return refuse(err)
	}
	return Chain(scaleByAdamax{c}, c.decayed(), ScaleByLearningRate(learningRate))
}

func (a scaleByAdamax) Init(params any) State { return scaleByAdam(a).Init(params) }

func (a scaleByAdamax) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Adamax"
	s := stateOf[AdamState](op, state)
	count := increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array {
		return x[0].Abs().Add(like(a.c.eps, x[0])).Max(graph.Mul(like(a.c.b2, x[1]), x[1]))
	}, grads, s.Nu)
	updates := zip(op, func(x []*graph.Array) *graph.Array { return debias(x[0], a.c.b1, count).Div(x[1]) }, mu, nu)
	return updates, AdamState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu)}
}
