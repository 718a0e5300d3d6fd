package optim

import "xlarun/graph"

// ScaleByBelief is ScaleByAdam with the average of the squared differences between the gradients and their average
// (Zhuang et al., "AdaBelief optimizer: adapting stepsizes by the belief in observed gradients", 2020). Its state is
// an AdamState. Options: B1, B2, Eps (default 1e-16), EpsRoot (added to the average at each step, default 1e-16),
// Nesterov.
func ScaleByBelief(opts ...Option) Transform {
	c := configure("ScaleByBelief", config{b1: .9, b2: .999, eps: 1e-16, epsRoot: 1e-16}, opts, "B1", "B2", "Eps",
		"EpsRoot", "Nesterov")
	return adamLike{"optim.AdaBelief", c, func(c config, gradient, mean, old *graph.Array) *graph.Array {
		return moment(gradient.Sub(mean).Square(), old, c.b2).Add(like(c.epsRoot, old))
	}, func(c config, gradient, mean, square, count *graph.Array) *graph.Array {
		m, root := c.direction(gradient, mean, count), debias(square, c.b2, count).Sqrt()
		return m.Div(root.Add(like(c.eps, root)))
	}}
}

// AdaBelief is ScaleByBelief times the learning rate; the same options.
func AdaBelief(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByBelief(opts...), ScaleByLearningRate(learningRate))
}
