package optim

import "xlarun/graph"

// SGD is stochastic gradient descent: minus the learning rate times the gradient, or times its trace with Momentum
// (Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013; no dampening).
// Options: Momentum, Nesterov, MomentDType.
func SGD(learningRate any, opts ...Option) Transform {
	c := configure("SGD", config{}, opts, "Momentum", "Nesterov", "MomentDType")
	if c.momentum == nil {
		return Chain(ScaleByLearningRate(learningRate))
	}
	return Chain(trace{c}, ScaleByLearningRate(learningRate))
}

// TraceState is the momentum of Trace.
type TraceState struct {
	Trace any // like the parameters
}

type trace struct{ c config }

// Trace sums past updates: trace = update + decay * trace. Options: Nesterov, MomentDType.
func Trace(decay any, opts ...Option) Transform {
	c := configure("Trace", config{}, append([]Option{Momentum(decay)}, opts...), "Momentum", "Nesterov",
		"MomentDType")
	return trace{c}
}

func (t trace) Init(params any) State { return TraceState{zeros(params, t.c.momentDType)} }

func (t trace) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Trace"
	s := stateOf[TraceState](op, state)
	add := func(x []*graph.Array) *graph.Array { return x[0].Add(graph.Mul(like(t.c.momentum, x[1]), x[1])) }
	next := zip(op, add, grads, s.Trace)
	out := next
	if t.c.nesterov {
		out = zip(op, add, grads, next)
	}
	return out, TraceState{keep(op, next, s.Trace)}
}

// keep converts a new state tree to the dtypes of the old one.
func keep(op string, next, old any) any {
	return zip(op, func(x []*graph.Array) *graph.Array { return cast(x[0], x[1]) }, next, old)
}
