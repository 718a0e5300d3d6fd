package optim

import "xlarun/graph"

// ScheduleFreeState is the state of ScheduleFree.
type ScheduleFreeState struct {
	Count     *graph.Array // int32 scalar: steps taken, plus 1
	WeightSum *graph.Array // float64 scalar: sum of the weights of the steps
	MaxRate   *graph.Array // scalar: the largest learning rate so far, float64 if a parameter is, else float32
	Base      State
	Z         any // the parameters that the base optimizer steps
}

type scheduleFree struct {
	base Transform
	c    config
	rate rate
}

// ScheduleFree replaces the learning rate's schedule by an average of the parameters (Defazio et al., "The road less
// scheduled", 2024). base is the optimizer, with the same learning rate and without momentum. Gradients are taken at
// the caller's parameters, between the base's and their average; ScheduleFreeParams gives the average, which is to
// be evaluated. Its state is a ScheduleFreeState. Options: B1 (the weight of the average in the caller's parameters,
// default 0.9).
func ScheduleFree(base Transform, learningRate any, opts ...Option) Transform {
	wantTransform("ScheduleFree", base)
	c := configure("ScheduleFree", config{b1: .9}, opts, "B1")
	return scheduleFree{base, c, readRate("ScheduleFree", learningRate)}
}

func (f scheduleFree) Init(params any) State {
	sum := graph.Scalar(0, graph.Float64)
	return ScheduleFreeState{zeroCount().Add(1), sum, graph.Scalar(0, widest(params)), f.base.Init(params), params}
}

func (f scheduleFree) Update(grads any, state State, params any) (any, State) {
	const op = "optim.ScheduleFree"
	s := stateOf[ScheduleFreeState](op, state)
	rate := f.rate.value
	if f.rate.schedule != nil {
		rate = f.rate.schedule(s.Count)
	}
	d := s.MaxRate.DType()
	most := s.MaxRate.Max(inType(rate, d))
	weight := most.Square()
	// Beyond 2^24 steps a float32 sum stands still. Up to there it is what optax has.
	single := s.WeightSum.Convert(d).Add(weight).Convert(graph.Float64)
	double := s.WeightSum.Convert(graph.Float64).Add(weight.Convert(graph.Float64))
	total := graph.Select(s.Count.Le(1<<24), single, double)
	sum := total.Convert(d)
	share := graph.Select(sum.Eq(0), 0, weight.Div(graph.Select(sum.Eq(0), 1, sum)))
	steps, base := f.base.Update(grads, s.Base, params)
	z := ApplyUpdates(s.Z, steps)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		param, old, next := x[0], x[1], x[2]
		average := averageOf(param, old, f.c.b1)
		c := like(share, param).(*graph.Array)
		average = graph.Sub(1, c).Mul(average).Add(c.Mul(next))
		mixed := graph.Mul(like(f.c.b1, param), average).Add(graph.Mul(like(sub(1., f.c.b1), param), next))
		return mixed.Sub(param)
	}, params, s.Z, z)
	return updates, ScheduleFreeState{increment(s.Count), total, most, base, z}
}

// averageOf is the average that was mixed with z into the parameters.
func averageOf(param, z *graph.Array, b1 any) *graph.Array {
	return param.Sub(graph.Mul(like(sub(1., b1), z), z)).Div(like(b1, param))
}

// ScheduleFreeParams is the average of the parameters, from the state and the parameters of ScheduleFree with this
// B1: what is to be evaluated.
func ScheduleFreeParams[P any](state State, params P, b1 any) P {
	const op = "optim.ScheduleFreeParams"
	s := stateOf[ScheduleFreeState](op, state)
	b := number("ScheduleFreeParams", b1)
	out, _ := zip(op, func(x []*graph.Array) *graph.Array { return cast(averageOf(x[0], x[1], b), x[0]) }, params,
		s.Z).(P)
	return out
}
