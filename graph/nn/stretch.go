package nn

import "xlarun/graph"

// InStretches runs a function along time in stretches of so many steps: run maps a state and a stretch of inputs, leaves [steps, …], to
// the next state and outputs, leaves [steps, …] or none. The result is the last state and all outputs; where the inputs' steps do not
// divide, the last stretch is shorter.
//
// It is how layers with a memory run fast one behind the other: within a stretch each layer does all its steps before the next one
// (Dense.Apply, then LIF.Apply, and so on), so that weights are read once a stretch and products are of matrices, while what the
// layers hand on is in memory for one stretch only, however many steps there are. Steps of 0 are one stretch of all. Numbers are those
// of steps one by one, but for the rounding of products. It does not fit layers that feed back to those before them.
func InStretches[S, X, Y any](steps int, run func(S, X) (S, Y), state S, xs X) (last S, ys Y) {
	const op = "nn.InStretches"
	leaves := graph.Leaves(xs)
	if steps < 0 || len(leaves) == 0 {
		graph.Throw(op, "got stretches of %d steps over %d arrays, want 0 or more steps, and an array or more", steps, len(leaves))
	}
	for _, x := range leaves {
		if x.Rank() == 0 || x.Dim(0) != leaves[0].Dims()[0] {
			graph.Throw(op, "got the input %s, want [steps, …] with as many steps in all", x.Shape())
		}
	}
	all := leaves[0].Dim(0)
	if steps == 0 || steps >= all {
		return run(state, xs)
	}
	whole := all / steps
	rows := graph.MapTree(func(x *graph.Array) *graph.Array {
		return graph.Reshape(graph.SliceAxis(x, 0, 0, whole*steps), append([]int{whole, steps}, x.Dims()[1:]...)...)
	}, xs)
	last, ys = graph.Scan(run, state, rows)
	ys = graph.MapTree(func(y *graph.Array) *graph.Array {
		return graph.Reshape(y, append([]int{whole * steps}, y.Dims()[2:]...)...)
	}, ys)
	if whole*steps == all {
		return last, ys
	}
	last, rest := run(last, graph.MapTree(func(x *graph.Array) *graph.Array { return graph.SliceAxis(x, 0, whole*steps, all) }, xs))
	return last, graph.MapTree2(func(a, b *graph.Array) *graph.Array { return graph.Concatenate(0, a, b) }, ys, rest)
}
