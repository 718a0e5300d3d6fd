package signal

import "xlarun/graph"

// Unwrap adds multiples of the period to the elements along an axis, so that neighbors differ by half a period at
// most: angles that go on. The period of radians is 2 math.Pi.
func Unwrap(x *graph.Array, period float64, axis int) *graph.Array {
	axis = graph.Arguments.Axis("Unwrap", axis, x.Rank())
	if !(period > 0) {
		graph.Throw("Unwrap", "got the period %v, want a number above 0", period)
	}
	x = graph.Arguments.Float(x)
	n := x.Shape().Dims[axis]
	if n < 2 {
		return x
	}
	step := graph.Diff(x, axis)
	near := step.Add(period / 2).Mod(period).Sub(period / 2)
	near = graph.Select(near.Eq(-period/2).And(step.Gt(0)), period/2, near)
	add := graph.CumSum(graph.Select(step.Abs().Lt(period/2), 0, near.Sub(step)), axis)
	return graph.Concatenate(axis, graph.SliceAxis(x, axis, 0, 1), graph.SliceAxis(x, axis, 1, n).Add(add))
}
