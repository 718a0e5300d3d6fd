package optim

import "xlarun/graph"

// leafNorm is the Euclidean norm of a leaf, in float32 or float64.
func leafNorm(x *graph.Array) *graph.Array { return x.Convert(wide(x)).Square().Sum().Sqrt() }

// ScaleByTrustRatio multiplies the updates of each leaf by coefficient times the norm of the parameter over that of
// the update; by 1 where one of the norms is 0.
func ScaleByTrustRatio(coefficient any) Transform {
	k := number("ScaleByTrustRatio", coefficient)
	return Stateless(func(g, p *graph.Array) *graph.Array {
		update, param := leafNorm(g), leafNorm(p)
		zero := update.Eq(0).Or(param.Eq(0))
		ratio := graph.Mul(like(k, param), param).Div(graph.Select(zero, 1, update))
		return g.Mul(cast(graph.Select(zero, 1, ratio), g))
	})
}

// LAMB is Adam with decoupled weight decay whose step in each leaf is as long as the parameter, times the learning
// rate (You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020). Options: B1,
// B2, Eps (default 1e-6), EpsRoot, WeightDecay (default 0), DecayMask.
func LAMB(learningRate any, opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-6, epsRoot: 0.}
	c := configure("LAMB", defaults, opts, "B1", "B2", "Eps", "EpsRoot", "WeightDecay", "DecayMask")
	return Chain(scaleByAdam(c), c.decayed(), ScaleByTrustRatio(1), ScaleByLearningRate(learningRate))
}

// LARS is SGD with momentum whose step in each leaf is in proportion to the parameter's norm (You et al., "Large
// batch training of convolutional networks", 2017). coefficient is the factor, 0.001 in the paper. Options: Momentum
// (default 0.9), Nesterov, WeightDecay (default 0), DecayMask.
func LARS(learningRate, coefficient any, opts ...Option) Transform {
	c := configure("LARS", config{momentum: .9}, opts, "Momentum", "Nesterov", "WeightDecay", "DecayMask")
	return Chain(c.decayed(), ScaleByTrustRatio(coefficient), ScaleByLearningRate(learningRate), trace{c})
}
