package optim

import "xlarun/graph"

// RMSPropState is the state of RMSProp.
type RMSPropState struct {
	Count *graph.Array // int32 scalar: steps taken
	Mu    any          // average of the gradients, like the parameters; None unless Centered
	Nu    any          // average of their squares, like the parameters
}

type scaleByRMS struct{ c config }

var rmsOptions = []string{"Decay", "Eps", "Centered", "EpsOutsideRoot", "BiasCorrection"}

// ScaleByRMS divides gradients by the root of the average of their squares (Tieleman and Hinton, 2012). Its state is an
// RMSPropState. Options: Decay, Eps, Centered (Graves, 2013), EpsOutsideRoot, BiasCorrection.
func ScaleByRMS(opts ...Option) Transform {
	c := configure("ScaleByRMS", config{decay: .9, eps: 1e-8}, opts, rmsOptions...)
	return scaleByRMS{c}
}

// RMSProp is ScaleByRMS times the learning rate, followed by Trace if Momentum is given. Options: ScaleByRMS's,
// Momentum, Nesterov.
func RMSProp(learningRate any, opts ...Option) Transform {
	c := configure("RMSProp", config{decay: .9, eps: 1e-8}, opts, append([]string{"Momentum", "Nesterov"},
		rmsOptions...)...)
	parts := []Transform{scaleByRMS{c}, ScaleByLearningRate(learningRate)}
	if c.momentum != nil {
		parts = append(parts, trace{c})
	}
	return Chain(parts...)
}

func (r scaleByRMS) Init(params any) State {
	s := RMSPropState{Count: zeroCount(), Mu: graph.None{}, Nu: zeros(params, 0)}
	if r.c.centered {
		s.Mu = zeros(params, 0)
	}
	return s
}

func (r scaleByRMS) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.RMSProp"
	s := stateOf[RMSPropState](op, state)
	next := RMSPropState{Count: increment(s.Count), Mu: s.Mu}
	correct := func(m *graph.Array) *graph.Array {
		if r.c.biasCorrection {
			return debias(m, r.c.decay, next.Count)
		}
		return m
	}
	nu := zip(op, func(x []*graph.Array) *graph.Array {
		return moment(x[0].Square(), x[1], r.c.decay)
	}, grads, s.Nu)
	next.Nu = keep(op, nu, s.Nu)
	trees := []any{grads, nu}
	if r.c.centered {
		mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], r.c.decay) }, grads, s.Mu)
		next.Mu = keep(op, mu, s.Mu)
		trees = append(trees, mu)
	}
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		v := correct(x[1])
		if r.c.centered {
			v = v.Sub(correct(x[2]).Square())
		}
		if r.c.epsOutside {
			root := v.Sqrt()
			return graph.Div(1, root.Add(like(r.c.eps, root))).Mul(x[0])
		}
		return v.Add(like(r.c.eps, v)).Rsqrt().Mul(x[0])
	}, trees...)
	return updates, next
}
