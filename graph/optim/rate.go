package optim

import "xlarun/graph"

// RateState counts the steps of a schedule.
type RateState struct {
	Count *graph.Array // int32 scalar: steps taken, the argument of the schedule
}

// rate is a learning rate from a number, a scalar array or a Schedule.
type rate struct {
	value    any // float64 or *graph.Array; nil: a schedule
	schedule Schedule
}

func readRate(optimizer string, v any) rate {
	if s, ok := v.(func(*graph.Array) *graph.Array); ok {
		v = Schedule(s)
	}
	if s, ok := v.(Schedule); ok && s != nil {
		return rate{schedule: s}
	}
	return rate{value: number(optimizer+": learning rate", v)}
}

// Scale multiplies updates by a number or scalar array.
func Scale(factor any) Transform {
	f := number("Scale", factor)
	return Stateless(func(g, _ *graph.Array) *graph.Array { return graph.Mul(like(f, g), g) })
}

// scaleBySchedule multiplies updates by sign * schedule(count).
type scaleBySchedule struct {
	schedule Schedule
	sign     float64
}

// ScaleBySchedule multiplies updates by the schedule's value at the number of steps taken. Its state is a RateState.
func ScaleBySchedule(s Schedule) Transform {
	if s == nil {
		graph.Throw("optim.ScaleBySchedule", "got a nil Schedule")
	}
	return scaleBySchedule{s, 1}
}

// ScaleByLearningRate multiplies updates by minus the learning rate (a number, a scalar array or a Schedule). It is the
// last transform of an optimizer that minimizes.
func ScaleByLearningRate(learningRate any) Transform {
	r := readRate("ScaleByLearningRate", learningRate)
	if r.schedule != nil {
		return scaleBySchedule{r.schedule, -1}
	}
	return Scale(mul(-1., r.value))
}

func (s scaleBySchedule) Init(any) State { return RateState{zeroCount()} }

func (s scaleBySchedule) Update(grads any, state State, _ any) (any, State) {
	st := stateOf[RateState]("optim.ScaleBySchedule", state)
	factor := graph.Mul(s.sign, s.schedule(st.Count))
	out := zip("optim.ScaleBySchedule", func(x []*graph.Array) *graph.Array {
		return graph.Mul(like(factor, x[0]), x[0])
	}, grads)
	return out, RateState{increment(st.Count)}
}
