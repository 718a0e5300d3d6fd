package optim

import "xlarun/graph"

// ScaleByAdamax divides the average of the gradients by a decaying maximum of their magnitudes (Kingma and Ba,
// "Adam: a method for stochastic optimization", 2015, section 7.1). Its state is an AdamState. Options: B1, B2, Eps.
func ScaleByAdamax(opts ...Option) Transform {
	return scaleByAdamax(configure("ScaleByAdamax", config{b1: .9, b2: .999, eps: 1e-8}, opts, "B1", "B2", "Eps"))
}

// Adamax is ScaleByAdamax times the learning rate, with decoupled weight decay. Options: B1, B2, Eps, WeightDecay
// (default 0), DecayMask.
func Adamax(learningRate any, opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-8}
	c := configure("Adamax", defaults, opts, "B1", "B2", "Eps", "WeightDecay", "DecayMask")
	return Chain(scaleByAdamax(c), c.decayed(), ScaleByLearningRate(learningRate))
}

func scaleByAdamax(c config) Transform {
	return adamLike{"optim.Adamax", c, func(c config, gradient, _, old *graph.Array) *graph.Array {
		return gradient.Abs().Add(like(c.eps, gradient)).Max(graph.Mul(like(c.b2, old), old))
	}, func(c config, _, mean, square, count *graph.Array) *graph.Array {
		return debias(mean, c.b1, count).Div(square)
	}}
}
