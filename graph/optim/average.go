package optim

import "xlarun/graph"

// EMAState is the state of EMA.
type EMAState struct {
	Count *graph.Array // int32 scalar: values seen
	EMA   any          // the average without correction, like the parameters
}

type ema struct {
	decay  any
	debias bool
}

// EMA replaces updates by their exponential moving average, decay * average + (1-decay) * update, started at zero. With
// debias it corrects the bias of the start. It can also average parameters:
//
//	average, averageState = optim.Update(ema, params, averageState, params)
func EMA(decay any, debias bool) Transform {
	d := number("EMA", decay)
	return ema{d, debias}
}

func (e ema) Init(params any) State { return EMAState{zeroCount(), zeros(params, 0)} }

func (e ema) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.EMA"
	s := stateOf[EMAState](op, state)
	count := increment(s.Count)
	average := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], e.decay) }, grads, s.EMA)
	out := average
	if e.debias {
		out = zip(op, func(x []*graph.Array) *graph.Array { return debias(x[0], e.decay, count) }, average)
	}
	return out, EMAState{count, keep(op, average, s.EMA)}
}

// IncrementalUpdate moves old parameters toward new ones: step*new + (1-step)*old, as target networks do (Polyak
// averaging). step is a number or scalar array.
func IncrementalUpdate[P any](newParams, oldParams P, step any) P {
	const op = "optim.IncrementalUpdate"
	st := number("IncrementalUpdate", step)
	next, _ := zip(op, func(x []*graph.Array) *graph.Array {
		n, old := x[0], x[1]
		return cast(graph.Mul(like(st, n), n).Add(graph.Mul(like(sub(1., st), old), old)), old)
	}, newParams, oldParams).(P)
	return next
}
