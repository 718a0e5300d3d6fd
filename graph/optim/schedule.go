package optim

import (
	"maps"
	"math"
	"slices"

	"xlarun/graph"
)

// Schedule maps the number of steps taken (int32 scalar, 0 at the first step) to a value (float32 scalar). Values in
// the functions below are numbers or scalar arrays; numbers of steps are Go ints. Those that go from one value to
// another have exactly these at the ends. For float64 parameters with a learning rate in full precision, use a number
// or a float64 array instead of a Schedule.
type Schedule func(count *graph.Array) *graph.Array

// value converts a schedule's value. It is called while tracing, so that the traced function returns its errors.
func value(schedule string, v any) any {
	x := number(schedule, v)
	return inType(x, graph.Float32)
}

// f32 is a float32 scalar array of a value.
func f32(v any) *graph.Array {
	if a, ok := v.(*graph.Array); ok {
		return a
	}
	return graph.Scalar(v.(float64))
}

// positive refuses a number of steps below 1, or beyond what counts them.
func positive(schedule string, steps int) {
	if steps < 1 || steps > math.MaxInt32 {
		graph.Throw("optim."+schedule, "got %d steps, want from 1 to %d", steps, math.MaxInt32)
	}
}

// stepAt refuses a step that no int32 counts.
func stepAt(schedule string, at int) {
	if at < math.MinInt32 || at > math.MaxInt32 {
		graph.Throw("optim."+schedule, "got the step %d, want one that fits in an int32", at)
	}
}

// wideCount is a count in a dtype that holds every number of steps.
func wideCount(count *graph.Array) *graph.Array {
	if graph.ItemSize(count.DType()) < 4 {
		return count.Convert(graph.Int32)
	}
	return count
}

// Constant is v at every step.
func Constant(v any) Schedule {
	return func(*graph.Array) *graph.Array { return f32(value("Constant", v)) }
}

// Linear goes from init to end in the given number of steps, 1 or more, and stays there.
func Linear(init, end any, steps int) Schedule { return polynomial("Linear", init, end, 1, steps, 0) }

// Polynomial goes from init to end in the given number of steps, starting at step begin: (init-end) (1-t)^power + end
// for t in [0, 1].
func Polynomial(init, end, power any, steps, begin int) Schedule {
	return polynomial("Polynomial", init, end, power, steps, begin)
}

func polynomial(name string, init, end, power any, steps, begin int) Schedule {
	return func(count *graph.Array) *graph.Array {
		positive(name, steps)
		stepAt(name, begin)
		count = wideCount(count)
		a, b, p := value(name, init), value(name, end), value(name, power)
		end := min(begin+steps, math.MaxInt32) // of the counts before the subtraction, which then cannot overflow
		left := graph.Sub(1, graph.Clamp(begin, count, end).Sub(begin).Div(steps))
		if begin+steps <= math.MaxInt32 {
			left = graph.Select(count.Ge(end), 0, left) // compilers multiply by 1/steps, which is rounded
		}
		if p != 1. {
			left = left.Pow(p)
		}
		return graph.Select(count.Le(begin), f32(a), graph.Mul(sub(a, b), left).Add(b))
	}
}

// Cosine falls from init to alpha*init along half a cosine in the given number of steps and stays there (Loshchilov and
// Hutter, "SGDR", 2017).
func Cosine(init any, steps int, alpha any) Schedule {
	return func(count *graph.Array) *graph.Array {
		v, floor := value("Cosine", init), value("Cosine", alpha)
		return cosine(v, mul(v, floor), floor, steps)(count)
	}
}

// cosine falls from init to end, which is alpha*init but for rounding.
func cosine(init, end, alpha any, steps int) Schedule {
	return func(count *graph.Array) *graph.Array {
		positive("Cosine", steps)
		count = wideCount(count)
		t := count.Convert(graph.Float32).Min(steps)
		wave := graph.Mul(.5, graph.Add(1, graph.Mul(math.Pi, t).Div(steps).Cos()))
		between := graph.Mul(init, graph.Mul(sub(1., alpha), wave).Add(alpha))
		return graph.Select(count.Le(0), f32(init), graph.Select(count.Ge(steps), f32(end), between))
	}
}

// Exponential is init * rate^(t/steps), without rounding t/steps.
func Exponential(init any, steps int, rate any) Schedule {
	return func(count *graph.Array) *graph.Array {
		positive("Exponential", steps)
		count = wideCount(count)
		v, r := value("Exponential", init), value("Exponential", rate)
		fallen := graph.Mul(v, graph.Pow(r, count.Div(steps)))
		return graph.Select(count.Le(0), v, fallen)
	}
}

// PiecewiseConstant starts at init and multiplies by a factor from each boundary (a step) on.
func PiecewiseConstant(init any, factors map[int]float64) Schedule {
	return func(count *graph.Array) *graph.Array {
		v := f32(value("PiecewiseConstant", init))
		count = wideCount(count)
		for _, at := range slices.Sorted(maps.Keys(factors)) {
			stepAt("PiecewiseConstant", at)
			v = graph.Select(count.Lt(at), v, graph.Mul(factors[at], v))
		}
		return v
	}
}

// Join runs schedules one after the other: schedule i+1 from step boundaries[i] on, counted from there.
func Join(schedules []Schedule, boundaries []int) Schedule {
	return func(count *graph.Array) *graph.Array {
		if len(schedules) != len(boundaries)+1 || !slices.IsSorted(boundaries) {
			graph.Throw("optim.Join", "got %d schedules and boundaries %v, want one boundary fewer, in rising order",
				len(schedules), boundaries)
		}
		count = wideCount(count)
		v := schedules[0](count)
		for i, at := range boundaries {
			stepAt("Join", at)
			v = graph.Select(count.Lt(at), v, schedules[i+1](count.Sub(at)))
		}
		return v
	}
}

// Warmup rises from init to peak in the given number of steps, then follows the schedule, whose count starts there.
// With 0 steps it is the schedule.
func Warmup(init, peak any, steps int, then Schedule) Schedule {
	if steps == 0 {
		return then
	}
	joined := Join([]Schedule{polynomial("Warmup", init, peak, 1, steps, 0), then}, []int{steps})
	return func(count *graph.Array) *graph.Array {
		if steps < 0 || steps > math.MaxInt32 {
			graph.Throw("optim.Warmup", "got %d steps, want from 0 to %d", steps, math.MaxInt32)
		}
		return joined(count)
	}
}

// WarmupCosine rises from init to peak in warmup steps, then falls along half a cosine to end, which it reaches at step
// total (the warm-up included). A warm-up of 0 steps starts at peak.
func WarmupCosine(init, peak any, warmup, total int, end any) Schedule {
	return func(count *graph.Array) *graph.Array {
		if warmup < 0 || total <= warmup || total > math.MaxInt32 {
			graph.Throw("optim.WarmupCosine", "got a warm-up of %d steps of %d, want from 0 to fewer than all, of at "+
				"most %d", warmup, total, math.MaxInt32)
		}
		top, last, alpha := value("WarmupCosine", peak), value("WarmupCosine", end), any(0.)
		if top != 0. {
			alpha = div(last, top)
		}
		return Warmup(init, top, warmup, cosine(top, last, alpha, total-warmup))(count)
	}
}
