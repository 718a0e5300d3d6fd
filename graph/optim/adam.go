package optim

import "xlarun/graph"

// AdamState is the state of Adam.
type AdamState struct {
	Count *graph.Array // int32 scalar: steps taken
	Mu    any          // average of the gradients, like the parameters
	Nu    any          // average of their squares, like the parameters
}

type scaleByAdam struct{ c config }

// ScaleByAdam divides the average of the gradients by the root of the average of their squares (Kingma and Ba,
// "Adam: a method for stochastic optimization", 2015, with bias correction). Its state is an AdamState. Options: B1,
// B2, Eps, EpsRoot, Nesterov (Dozat, 2016), MomentDType (of Mu).
func ScaleByAdam(opts ...Option) Transform {
	c, err := configure("ScaleByAdam", config{b1: .9, b2: .999, eps: 1e-8, epsRoot: 0.}, opts, adamOptions...)
	if err != nil {
		return refuse(err)
	}
	return scaleByAdam{c}
}

var adamOptions = []string{"B1", "B2", "Eps", "EpsRoot", "Nesterov", "MomentDType"}

// Adam is ScaleByAdam times the learning rate; the same options.
func Adam(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByAdam(opts...), ScaleByLearningRate(learningRate))
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
// Options: Adam's, WeightDecay (default 1e-4), DecayMask.
func AdamW(learningRate any, opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-8, epsRoot: 0., weightDecay: 1e-4}
	c, err := configure("AdamW", defaults, opts, append([]string{"WeightDecay", "DecayMask"}, adamOptions...)...)
	if err != nil {
		return refuse(err)
	}
	return Chain(scaleByAdam{c}, AddDecayedWeights(c.weightDecay, c.mask), ScaleByLearningRate(learningRate))
}

// NAdam is Adam with Nesterov momentum (Dozat, "Incorporating Nesterov momentum into Adam", 2016); Adam's options.
func NAdam(learningRate any, opts ...Option) Transform {
	return Adam(learningRate, append([]Option{Nesterov()}, opts...)...)
}

// NAdamW is AdamW with Nesterov momentum; AdamW's options.
func NAdamW(learningRate any, opts ...Option) Transform {
	return AdamW(learningRate, append([]Option{Nesterov()}, opts...)...)
}

func (a scaleByAdam) Init(params any) State {
	return AdamState{zeroCount(), zeros(params, a.c.momentDType), zeros(params, 0)}
}

func (a scaleByAdam) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Adam"
	s := stateOf[AdamState](op, state)
	count := increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0].Square(), x[1], a.c.b2) }, grads, s.Nu)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		v := debias(x[2], a.c.b2, count)
		m := a.c.direction(x[0], x[1], count)
		root := v.Add(like(a.c.epsRoot, v)).Sqrt()
		return m.Div(root.Add(like(a.c.eps, root)))
	}, grads, mu, nu)
	return updates, AdamState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu)}
}

// direction returns the average of the gradients without its bias. With Nesterov it is the average as it will be after
// another step with the same gradient.
func (c config) direction(gradient, average, count *graph.Array) *graph.Array {
	if !c.nesterov {
		return debias(average, c.b1, count)
	}
	m, g := debias(average, c.b1, increment(count)), debias(gradient, c.b1, count)
	return graph.Mul(like(c.b1, m), m).Add(graph.Mul(like(sub(1., c.b1), g), g))
}
