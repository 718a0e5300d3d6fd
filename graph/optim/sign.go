package optim

import "xlarun/graph"

// ScaleBySign replaces updates by their signs.
func ScaleBySign() Transform {
	return Stateless(func(g, _ *graph.Array) *graph.Array { return g.Sign() })
}

// SignSGD steps by the learning rate against the sign of each gradient (Bernstein et al., "signSGD: compressed
// optimization for non-convex problems", 2018).
func SignSGD(learningRate any) Transform {
	return Chain(ScaleBySign(), ScaleByLearningRate(learningRate))
}

// Signum is SignSGD of the average of the gradients, whose decay rate is usually 0.9.
func Signum(learningRate, decay any) Transform {
	return Chain(EMA(decay, false), ScaleBySign(), ScaleByLearningRate(learningRate))
}
