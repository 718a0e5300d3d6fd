package optim

import "xlarun/graph"

// LionState is the state of Lion.
type LionState struct {
	Mu any // momentum, like the parameters
}

type scaleByLion struct{ c config }

var lionOptions = []string{"B1", "B2", "MomentDType"}

// ScaleByLion takes the sign of the gradient mixed with the momentum (Chen et al., "Symbolic discovery of optimization
// algorithms", 2023). Its state is a LionState. Options: B1, B2, MomentDType.
func ScaleByLion(opts ...Option) Transform {
	c := configure("ScaleByLion", config{b1: .9, b2: .99}, opts, lionOptions...)
	return scaleByLion{c}
}

// Lion is ScaleByLion with decoupled weight decay. Options: B1, B2, MomentDType, WeightDecay (default 1e-3), DecayMask.
func Lion(learningRate any, opts ...Option) Transform {
	c := configure("Lion", config{b1: .9, b2: .99, weightDecay: 1e-3}, opts,
		append([]string{"WeightDecay", "DecayMask"}, lionOptions...)...)
	return Chain(scaleByLion{c}, AddDecayedWeights(c.weightDecay, c.mask), ScaleByLearningRate(learningRate))
}

func (l scaleByLion) Init(params any) State { return LionState{zeros(params, l.c.momentDType)} }

func (l scaleByLion) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Lion"
	s := stateOf[LionState](op, state)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		return moment(x[0], x[1], l.c.b1).Sign()
	}, grads, s.Mu)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return cast(moment(x[0], x[1], l.c.b2), x[1]) }, grads, s.Mu)
	return updates, LionState{keep(op, mu, s.Mu)}
}
