package nn

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Codes make spikes, 1 or 0 in the input's type, of numbers, a train for each element. What is no number stays none in
// its own train, so that who sees it fails as a network without spikes does.

// RateCode codes x […], of 0 to 1, as random trains [steps, …]: an element x spikes in each step with probability x, as
// spyx.data.rate_code with max_r 1 does. Numbers outside count as the nearest bound.
func RateCode(key random.Key, x *graph.Array, steps int) *graph.Array {
	p := coded("nn.RateCode", x, steps)
	drawn := random.Uniform(key, graph.ShapeOf(p.DType(), append([]int{steps}, p.Dims()...)...), 0, 1)
	return spikesOf(drawn.Lt(p), p)
}

// RegularCode codes x […], of 0 to 1, as trains [steps, …] that are as even as trains of whole steps can be: after t
// steps an element x has spiked floor(t*x) times. Numbers outside count as the nearest bound.
func RegularCode(x *graph.Array, steps int) *graph.Array {
	p := coded("nn.RegularCode", x, steps)
	after := func(first int) *graph.Array {
		return numbered(p, steps, float64(first), 1).Mul(p).Floor()
	}
	return after(1).Sub(after(0))
}

// LatencyCode codes x […], of 0 to 1, as trains [steps, …] of one spike, the sooner the larger x: in step
// round((1-x)*(steps-1)), counted from 0 (halves to the even one). Elements of silent or less do not spike;
// spyx.data.latency_code, whose formula this is, has 0.01. Numbers outside of 0 to 1 count as the nearest bound.
func LatencyCode(x *graph.Array, steps int, silent float64) *graph.Array {
	p := coded("nn.LatencyCode", x, steps)
	at := graph.Sub(1, p).Mul(float64(steps - 1)).Round()
	return spikesOf(numbered(p, steps, 0, 1).Eq(at).And(p.Gt(silent)), p)
}

// PopulationCode codes x [n], of low to high, by so many units an element: [n*fields] of 0 to 1, how much each of them
// is driven, for one of the codes above. Unit i of an element has its peak, 1, where x = low + i*width with width =
// (high-low)/(fields-1), and falls off as exp(-((x-peak)/width)²/2).
func PopulationCode(x *graph.Array, fields int, low, high float64) *graph.Array {
	const op = "nn.PopulationCode"
	if x == nil || x.Rank() != 1 || !x.DType().IsFloat() {
		graph.Throw(op, "got the input %v, want floats [n]", x)
	}
	if fields < 2 || !(low < high) || math.IsInf(high-low, 0) {
		graph.Throw(op, "got %d fields from %v to %v, want 2 fields or more, and bounds of which the first is less",
			fields, low, high)
	}
	width := (high - low) / float64(fields-1)
	peaks := graph.Add(low, graph.Iota(fields).Convert(x.DType()).Mul(width))
	apart := x.ExpandDims(1).Sub(peaks).Div(width)
	return graph.Flatten1D(apart.Square().Mul(-.5).Exp())
}

// Delta codes changes, as sensors that send on a change do: an element spikes where it lies further than Threshold from
// what it was at its last spike (at Start, 0), in one train where it rose and in another where it fell.
type Delta struct{ Threshold float64 }

// Start is what n elements are compared with at first: zeros [n].
func (Delta) Start(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, n)) }

// Step maps what elements were at their last spikes and their values x, [n] each, to the same after this step, and
// spikes [2*n]: of those that rose, then of those that fell.
func (d Delta) Step(last, x *graph.Array) (next, spikes *graph.Array) {
	if !(d.Threshold > 0) || math.IsInf(d.Threshold, 0) {
		graph.Throw("nn.Delta", "got Threshold %v, want a number above 0", d.Threshold)
	}
	wantState("nn.Delta", "state", last, x)
	by := x.Sub(last)
	rose, fell := spikesOf(by.Gt(d.Threshold), by), spikesOf(by.Lt(-d.Threshold), by)
	return graph.Select(rose.Add(fell).Gt(0), x, last), graph.Concatenate(0, rose, fell)
}

// Apply runs along time: from a state [n] and values [steps, n] to the last state and all spikes [steps, 2*n].
func (d Delta) Apply(last, x *graph.Array) (end, spikes *graph.Array) {
	wantTime("nn.Delta", x)
	return graph.Scan(d.Step, last, x)
}

// coded is what a code takes of its input.
func coded(op string, x *graph.Array, steps int) *graph.Array {
	if x == nil || !x.DType().IsFloat() {
		graph.Throw(op, "got the input %v, want floats of 0 to 1", x)
	}
	if steps < 1 {
		graph.Throw(op, "got %d steps, want at least 1", steps)
	}
	return graph.Clamp(0, x, 1)
}

// spikesOf are 1 where a spike is, in x's type, and NaN where x is.
func spikesOf(spike, x *graph.Array) *graph.Array {
	return spike.Convert(x.DType()).Add(x.Mul(0))
}

// numbered are the numbers of steps, from first on in the given distance, along an axis in front of x's: [steps, 1…].
func numbered(x *graph.Array, steps int, first, distance float64) *graph.Array {
	dims := []int{steps}
	for range x.Rank() {
		dims = append(dims, 1)
	}
	t := graph.Iota(steps).Reshape(dims...).Convert(x.DType())
	return t.Mul(distance).Add(first)
}
