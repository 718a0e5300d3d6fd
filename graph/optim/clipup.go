package optim

import "xlarun/graph"

// ClipUpState is the state of ClipUp.
type ClipUpState struct {
	Count    *graph.Array // int32 scalar: steps taken
	Velocity any          // the last step, like the parameters
}

type clipUp struct {
	c config
	r rate
}

// ClipUp normalizes the gradient to the length of the learning rate, adds it to the velocity, and clips the velocity's
// norm (Toklu, Liskowski and Srivastava, "ClipUp: a simple and powerful optimizer for distribution-based policy
// evolution", 2020). Norms are over all leaves. Its state is a ClipUpState. Options: Momentum (default 0.9), MaxSpeed
// (default twice the learning rate), Eps.
func ClipUp(learningRate any, opts ...Option) Transform {
	c := configure("ClipUp", config{momentum: .9, eps: 1e-8}, opts, "Momentum", "MaxSpeed", "Eps")
	return clipUp{c, readRate("ClipUp", learningRate)}
}

func (c clipUp) Init(params any) State { return ClipUpState{zeroCount(), zeros(params, 0)} }

func (c clipUp) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.ClipUp"
	s := stateOf[ClipUpState](op, state)
	lr, most := c.r.value, c.c.maxSpeed
	if c.r.schedule != nil {
		lr = c.r.schedule(s.Count)
	}
	if most == nil {
		most = mul(2., lr)
	}
	norm := GlobalNorm(grads)
	norm = norm.Add(like(c.c.eps, norm))
	v := zip(op, func(x []*graph.Array) *graph.Array {
		g, old := x[0], x[1]
		return graph.Mul(like(c.c.momentum, old), old).Add(graph.Mul(like(lr, g), g.Div(cast(norm, g))))
	}, grads, s.Velocity)
	speed := GlobalNorm(v)
	limit := inType(most, speed.DType())
	factor := graph.Select(speed.Gt(limit), graph.Div(limit, speed), 1)
	v = zip(op, func(x []*graph.Array) *graph.Array { return x[0].Mul(cast(factor, x[0])) }, v)
	down := zip(op, func(x []*graph.Array) *graph.Array { return x[0].Neg() }, v)
	return down, ClipUpState{increment(s.Count), keep(op, v, s.Velocity)}
}
