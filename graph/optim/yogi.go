package optim

import "xlarun/graph"

// ScaleByYogi is ScaleByAdam with an average of the squares that moves by a fixed fraction of the squared gradient
// (Zaheer et al., "Adaptive methods for nonconvex optimization", 2018). Its state is an AdamState. Options: B1, B2,
// Eps (default 1e-3), EpsRoot, Initial (both averages before the first step, default 1e-6).
func ScaleByYogi(opts ...Option) Transform {
	c := configure("ScaleByYogi", config{b1: .9, b2: .999, eps: 1e-3, epsRoot: 0., initial: 1e-6}, opts, "B1",
		"B2", "Eps", "EpsRoot", "Initial")
	return adamLike{"optim.Yogi", c, func(c config, gradient, _, old *graph.Array) *graph.Array {
		square := gradient.Square()
		return old.Sub(graph.Mul(like(sub(1., c.b2), square), old.Sub(square).Sign().Mul(square)))
	}, func(c config, _, mean, square, count *graph.Array) *graph.Array {
		v := debias(square, c.b2, count)
		root := v.Add(like(c.epsRoot, v)).Sqrt()
		return debias(mean, c.b1, count).Div(root.Add(like(c.eps, root)))
	}}
}

// Yogi is ScaleByYogi times the learning rate; the same options.
func Yogi(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByYogi(opts...), ScaleByLearningRate(learningRate))
}
