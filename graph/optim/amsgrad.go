package optim

import "xlarun/graph"

// AMSGradState is the state of ScaleByAMSGrad.
type AMSGradState struct {
	Count *graph.Array // int32 scalar: steps taken
	Mu    any          // average of the gradients, like the parameters
	Nu    any          // average of their squares, like the parameters
	Most  any          // the largest corrected average of the squares so far, like the parameters
}

type scaleByAMSGrad struct{ c config }

// ScaleByAMSGrad is ScaleByAdam with the largest average of the squares so far instead of the present one (Reddi et
// al., "On the convergence of Adam and beyond", 2018), both averages with bias correction. Its state is an
// AMSGradState. Options: B1, B2, Eps, EpsRoot, MomentDType (of Mu).
func ScaleByAMSGrad(opts ...Option) Transform {
	c := configure("ScaleByAMSGrad", config{b1: .9, b2: .999, eps: 1e-8, epsRoot: 0.}, opts, "B1", "B2", "Eps",
		"EpsRoot", "MomentDType")
	return scaleByAMSGrad{c}
}

// AMSGrad is ScaleByAMSGrad times the learning rate; the same options.
func AMSGrad(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByAMSGrad(opts...), ScaleByLearningRate(learningRate))
}

func (a scaleByAMSGrad) Init(params any) State {
	return AMSGradState{zeroCount(), zeros(params, a.c.momentDType), zeros(params, 0), zeros(params, 0)}
}

func (a scaleByAMSGrad) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.AMSGrad"
	s := stateOf[AMSGradState](op, state)
	count := increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0].Square(), x[1], a.c.b2) }, grads, s.Nu)
	most := zip(op, func(x []*graph.Array) *graph.Array { return x[1].Max(debias(x[0], a.c.b2, count)) }, nu, s.Most)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		root := x[1].Add(like(a.c.epsRoot, x[1])).Sqrt()
		return debias(x[0], a.c.b1, count).Div(root.Add(like(a.c.eps, root)))
	}, mu, most)
	return updates, AMSGradState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu), keep(op, most, s.Most)}
}
