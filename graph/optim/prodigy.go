package optim

import "xlarun/graph"

// ProdigyState is the state of Prodigy.
type ProdigyState struct {
	Count     *graph.Array // int32 scalar: steps taken
	Mu, Nu    any          // averages of the scaled gradients and of their squares, like the parameters
	Sum       any          // weighted sum of the scaled gradients, like the parameters
	Start     any          // the parameters before the first step
	Estimate  *graph.Array // scalar: the estimated distance to the solution, which scales the steps
	Numerator *graph.Array // scalar: of the next estimate; both are float64 if a parameter is, else float32
}

type prodigy struct {
	c    config
	rate rate
}

// Prodigy is Adam that estimates the distance to the solution, with which it multiplies the learning rate, usually 1
// (Mishchenko and Defazio, "Prodigy: an expeditiously adaptive parameter-free learner", 2024). Its state is a
// ProdigyState. Options: B1, B2, Eps, Initial (the first estimate, default 1e-6), WeightDecay (default 0).
func Prodigy(learningRate any, opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-8, initial: 1e-6, weightDecay: 0.}
	c := configure("Prodigy", defaults, opts, "B1", "B2", "Eps", "Initial", "WeightDecay")
	return prodigy{c, readRate("Prodigy", learningRate)}
}

func (p prodigy) Init(params any) State {
	z := zeros(params, 0)
	d := widest(params)
	return ProdigyState{zeroCount(), z, z, z, params, scalar(p.c.initial, d), graph.Scalar(0, d)}
}

func (p prodigy) Update(grads any, state State, params any) (any, State) {
	const op = "optim.Prodigy"
	s := stateOf[ProdigyState](op, state)
	d := s.Estimate.DType()
	number := func(v any) *graph.Array { return scalar(v, d) }
	count := increment(s.Count)
	n := count.Convert(d)
	b1, b2, first, rate := number(p.c.b1), number(p.c.b2), number(p.c.initial), p.rate.value
	b3 := b2.Sqrt()
	if p.rate.schedule != nil {
		rate = p.rate.schedule(s.Count)
	}
	correction := graph.Sub(1, graph.Pow(b2, n)).Sqrt().Div(graph.Sub(1, graph.Pow(b1, n)))
	step := s.Estimate.Mul(inType(rate, d)).Mul(correction)
	scaled := zip(op, func(x []*graph.Array) *graph.Array { return graph.Mul(like(s.Estimate, x[0]), x[0]) }, grads)
	moved := zip(op, func(x []*graph.Array) *graph.Array { return x[1].Sub(x[0]).Mul(x[2]) }, params, s.Start, grads)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], p.c.b1) }, scaled, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0].Square(), x[1], p.c.b2) }, scaled, s.Nu)
	weight := step.Div(first)
	sum := zip(op, func(x []*graph.Array) *graph.Array {
		return graph.Mul(like(b3, x[1]), x[1]).Add(graph.Mul(like(weight, x[0]), x[0]))
	}, scaled, s.Sum)
	total := func(tree any, of func(*graph.Array) *graph.Array) *graph.Array {
		all := graph.Scalar(0, d)
		for _, x := range graph.Leaves(tree) {
			if isFloat(x) {
				all = all.Add(of(x).Convert(d).Sum())
			}
		}
		return all
	}
	same := func(x *graph.Array) *graph.Array { return x }
	numerator := b3.Mul(s.Numerator).Add(s.Estimate.Div(first).Mul(step).Mul(total(moved, same)))
	estimate := s.Estimate.Max(numerator.Div(total(sum, (*graph.Array).Abs)))
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		m, v, param := x[0], x[1], x[2]
		root := v.Sqrt().Add(like(estimate.Mul(inType(p.c.eps, d)), v))
		decay := graph.Mul(like(p.c.weightDecay, param), param)
		return graph.Mul(like(step, m), m.Div(root).Add(decay)).Neg()
	}, mu, nu, params)
	return updates, ProdigyState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu), keep(op, sum, s.Sum), s.Start, estimate,
		numerator}
}
