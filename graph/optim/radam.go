package optim

import "xlarun/graph"

type scaleByRAdam struct{ c config }

// tractable is the length of the approximated average from which on the variance of Adam's rate is tractable.
const tractable = 5

// ScaleByRAdam is ScaleByAdam with a rectified rate (Liu et al., "On the variance of the adaptive learning rate and
// beyond", 2020). While the average of the squares has too few gradients to be reliable, the update is the average of
// the gradients. After that it is Adam's update times a factor that grows to 1. Its state is an AdamState. Options: B1,
// B2, Eps, EpsRoot.
func ScaleByRAdam(opts ...Option) Transform {
	c := configure("ScaleByRAdam", config{b1: .9, b2: .999, eps: 1e-8, epsRoot: 0.}, opts, "B1", "B2", "Eps",
		"EpsRoot")
	return scaleByRAdam{c}
}

// RAdam is ScaleByRAdam times the learning rate; the same options.
func RAdam(learningRate any, opts ...Option) Transform {
	return Chain(ScaleByRAdam(opts...), ScaleByLearningRate(learningRate))
}

func (a scaleByRAdam) Init(params any) State { return scaleByAdam(a.c).Init(params) }

func (a scaleByRAdam) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.RAdam"
	s := stateOf[AdamState](op, state)
	count := increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], a.c.b1) }, grads, s.Mu)
	nu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0].Square(), x[1], a.c.b2) }, grads, s.Nu)
	type rate struct{ trusted, rectifier *graph.Array }
	rates := map[graph.DType]rate{}
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		d := wide(x[0])
		if _, ok := rates[d]; !ok {
			trusted, rectifier := a.rectifier(count, d)
			rates[d] = rate{trusted, rectifier}
		}
		r := rates[d]
		m, v := debias(x[0], a.c.b1, count), debias(x[1], a.c.b2, count)
		root := v.Add(like(a.c.epsRoot, v)).Sqrt()
		return graph.Select(r.trusted, cast(r.rectifier, m).Mul(m).Div(root.Add(like(a.c.eps, root))), m)
	}, mu, nu)
	return updates, AdamState{count, keep(op, mu, s.Mu), keep(op, nu, s.Nu)}
}

// rectifier returns whether the average of the squares is reliable after count gradients, and the factor of the updates
// if it is, in dtype d.
func (a scaleByRAdam) rectifier(count *graph.Array, d graph.DType) (trusted, by *graph.Array) {
	b2 := inType(a.c.b2, d)
	n := count.Convert(d)
	power := graph.Pow(b2, n)
	most := sub(div(2., sub(1., b2)), 1.) // the limit of the length of the approximated average
	length := graph.Sub(most, graph.Mul(2, n).Mul(power).Div(graph.Sub(1, power)))
	trusted = length.Ge(tractable)
	length = length.Max(tractable) // avoids roots of negative numbers
	part := func(x any) any { return mul(sub(x, 4.), sub(x, 2.)) }
	over := length.Sub(4).Mul(length.Sub(2)).Mul(most)
	return trusted, over.Div(graph.Mul(part(most), length)).Sqrt()
}
