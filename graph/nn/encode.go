package nn

import (
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// The codes below turn numbers into spike trains: one train for each element, 1 or 0 in the input's type. The train of
// a NaN is NaN, so that the error is visible in the results.

// RateCode codes x […] in [0, 1] as random trains [steps, …]: an element spikes in each step with probability x, as in
// spyx.data.rate_code with max_r = 1. x is clipped to [0, 1].
func RateCode(key random.Key, x *graph.Array, steps int) *graph.Array {
	p := coded("nn.RateCode", x, steps)
	drawn := random.Uniform(key, graph.ShapeOf(p.DType(), append([]int{steps}, p.Dims()...)...), 0, 1)
	return spikesOf(drawn.Lt(p), p)
}

// RegularCode codes x […] in [0, 1] as evenly spaced trains [steps, …]: after t steps an element has spiked floor(t*x)
// times. x is clipped to [0, 1].
func RegularCode(x *graph.Array, steps int) *graph.Array {
	p := coded("nn.RegularCode", x, steps)
	t := leadingIota(p, steps)
	count := func(t *graph.Array) *graph.Array { return t.Mul(p).Floor() }
	return count(t.Add(1)).Sub(count(t))
}

// LatencyCode codes x […] in [0, 1] as trains [steps, …] of one spike, earlier for larger x: in step
// round((1-x)*(steps-1)), counted from 0 (halves round to even). Elements with x <= silent do not spike. The formula is
// that in spyx.data.latency_code, where silent is 0.01. x is clipped to [0, 1].
func LatencyCode(x *graph.Array, steps int, silent float64) *graph.Array {
	p := coded("nn.LatencyCode", x, steps)
	at := graph.Sub(1, p).Mul(float64(steps - 1)).Round()
	return spikesOf(leadingIota(p, steps).Eq(at).And(p.Gt(silent)), p)
}

// PopulationCode codes x [n] in [low, high] by fields units for each element: the result [n*fields] is the activity of
// each unit in [0, 1], an input for the codes above. Unit i of an element has its peak, 1, at x = low + i*width, where
// width = (high-low)/(fields-1). Its activity is exp(-((x-peak)/width)²/2).
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
	distance := x.ExpandDims(1).Sub(peaks).Div(width)
	return graph.Flatten1D(distance.Square().Mul(-.5).Exp())
}

// Delta codes changes, as event-based sensors do: an element spikes if it differs by more than Threshold from its value
// at its last spike. Rises and falls have separate trains.
type Delta struct{ Threshold float64 }

// Start is the values before the first spike: zeros [n].
func (Delta) Start(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, n)) }

// Step maps the values at the last spikes and the current values x, [n] each, to the next state and spikes [2*n]: the
// rises, then the falls.
func (d Delta) Step(last, x *graph.Array) (next, spikes *graph.Array) {
	if !(d.Threshold > 0) || math.IsInf(d.Threshold, 0) {
		graph.Throw("nn.Delta", "got Threshold %v, want a number above 0", d.Threshold)
	}
	wantState("nn.Delta", "state", last, x)
	change := x.Sub(last)
	rises, falls := spikesOf(change.Gt(d.Threshold), change), spikesOf(change.Lt(-d.Threshold), change)
	return graph.Select(rises.Add(falls).Gt(0), x, last), graph.Concatenate(0, rises, falls)
}

// Apply runs along time: from a state [n] and values [steps, n] to the last state and all spikes [steps, 2*n].
func (d Delta) Apply(last, x *graph.Array) (end, spikes *graph.Array) {
	wantTime("nn.Delta", x)
	return graph.Scan(d.Step, last, x)
}

// coded checks a code's input and clips it to [0, 1].
func coded(op string, x *graph.Array, steps int) *graph.Array {
	if x == nil || !x.DType().IsFloat() {
		graph.Throw(op, "got the input %v, want floats of 0 to 1", x)
	}
	if steps < 1 {
		graph.Throw(op, "got %d steps, want at least 1", steps)
	}
	return graph.Clamp(0, x, 1)
}

// spikesOf converts spikes to x's type; NaN where x is NaN.
func spikesOf(spike, x *graph.Array) *graph.Array {
	return spike.Convert(x.DType()).Add(x.Mul(0))
}

// leadingIota is the step numbers 0 … steps-1 in x's type, along an axis before x's axes: [steps, 1…].
func leadingIota(x *graph.Array, steps int) *graph.Array {
	dims := append([]int{steps}, slices.Repeat([]int{1}, x.Rank())...)
	return graph.Iota(steps).Reshape(dims...).Convert(x.DType())
}
