package optim

import "xlarun/graph"

// AdamState is the state of Adam.
type AdamState struct {
	Count *graph.Array // int32 scalar: steps taken
	Mu    any          // average of the gradients, like the parameters
	Nu    any          // average of their squares, like the parameters
}

// adamLike is a transform with an AdamState. square gives the next Nu from the gradient, the next Mu and the last Nu,
// update the update from the gradient, the next Mu and Nu and the count of the steps.
type adamLike struct {
	op     string
	c      config
	square func(c config, gradient, mean, old *graph.Array) *graph.Array
	update func(c config, gradient, mean, square, count *graph.Array) *graph.Array
}

// ScaleByAdam divides the average of the gradients by the root of the average of their squares (Kingma and Ba,
// "Adam: a method for stochastic optimization", 2015, with bias correction). Its state is an AdamState. Options: B1,
// B2, Eps, EpsRoot, Nesterov (Dozat, 2016), MomentDType (of Mu).
func ScaleByAdam(opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-8, epsRoot: 0.}
	return scaleByAdam(configure("ScaleByAdam", defaults, opts, adamOptions...))
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
	c := configure("AdamW", defaults, opts, append([]string{"WeightDecay", "DecayMask"}, adamOptions...)...)
	return Chain(scaleByAdam(c), AddDecayedWeights(c.weightDecay, c.mask), ScaleByLearningRate(learningRate))
}

// NAdam is Adam with Nesterov momentum (Dozat, "Incorporating Nesterov momentum into Adam", 2016); Adam's options.
func NAdam(learningRate any, opts ...Option) Transform {
	return Adam(learningRate, append([]Option{Nesterov()}, opts...)...)
}

// NAdamW is AdamW with Nesterov momentum; AdamW's options.
func NAdamW(learningRate any, opts ...Option) Transform {
	return AdamW(learningRate, append([]Option{Nesterov()}, opts...)...)
}

func (a adamLike) Init(params any) State {
	mu, nu := zeros(params, a.c.momentDType), zeros(params, 0)
	if a.c.initial != nil {
		nu = zip(a.op, func(x []*graph.Array) *graph.Array { return x[0].Add(like(a.c.initial, x[0])) }, nu)
		mu = nu
	}
	return AdamState{zeroCount(), mu, nu}
}

func (a adamLike) Update(grads any, state State, _ any) (any, State) {
	s := stateOf[AdamState](a.op, state)
	count := increment(s.Count)
	mu := zip(a.op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(a.op, func(x []*graph.Array) *graph.Array { return a.square(a.c, x[0], x[1], x[2]) }, grads, mu, s.Nu)
	updates := zip(a.op, func(x []*graph.Array) *graph.Array {
		return a.update(a.c, x[0], x[1], x[2], count)
	}, grads, mu, nu)
	return updates, AdamState{count, keep(a.op, mu, s.Mu), keep(a.op, nu, s.Nu)}
}

// squares is the average of the squared gradients.
func squares(c config, gradient, _, old *graph.Array) *graph.Array {
	return moment(gradient.Square(), old, c.b2)
}

func scaleByAdam(c config) Transform {
	return adamLike{"optim.Adam", c, squares, func(c config, gradient, mean, square, count *graph.Array) *graph.Array {
		v := debias(square, c.b2, count)
		m := c.direction(gradient, mean, count)
		root := v.Add(like(c.epsRoot, v)).Sqrt()
		return m.Div(root.Add(like(c.eps, root)))
	}}
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
