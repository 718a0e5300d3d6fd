// Package advantage estimates how much better the actions of a trajectory were than the policy's average, and what the values of its
// states are to be.
package advantage

import "xlarun/graph"

// GAE is the generalised advantage estimate of each step of one trajectory, f32[T], and the returns that values are to estimate, f32[T],
// the advantages plus the values: Schulman et al., "High-dimensional continuous control using generalized advantage estimation"
// (2016). Axis 0 is time; several episodes may follow each other, as in an environment that resets itself.
//
// Of step t, rewards, f32[T], has what it gave, values, f32[T], the value of the observation that it was taken from, and final, f32[T],
// that of the observation which it led to, before any reset. terminated and truncated, bool[T], tell whether it ended the episode.
// last, f32[], is the value of the observation after the last step. gamma and lambda are scalars.
//
// A step that truncates is bootstrapped from final; one that terminates, or does both, from nothing; any other from the value of the next
// step, or last. What is not used (final of other steps, last behind an end) may be anything, NaN too, and a step that is no number
// spoils its own episode alone. No gradient goes through the results.
func GAE(rewards, values, final, terminated, truncated, last, gamma, lambda *graph.Array) (advantages, targets *graph.Array) {
	const op = "advantage.GAE"
	steps := rewards.Shape()
	if rewards.Rank() != 1 || rewards.Dim(0) == 0 {
		graph.Throw(op, "rewards are %s, want f32[T] of one or more steps of one trajectory: map over several with graph.VMap", steps)
	}
	for _, x := range []struct {
		name string
		*graph.Array
		want graph.Shape
	}{
		{"values", values, steps}, {"final", final, steps}, {"terminated", terminated, graph.ShapeOf(graph.Bool, steps.Dims...)},
		{"truncated", truncated, graph.ShapeOf(graph.Bool, steps.Dims...)}, {"last", last, graph.ShapeOf(steps.DType)},
		{"gamma", gamma, graph.ShapeOf(steps.DType)}, {"lambda", lambda, graph.ShapeOf(steps.DType)},
	} {
		if !x.Shape().Equal(x.want) {
			graph.Throw(op, "%s is %s, want %s beside rewards of %s", x.name, x.Shape(), x.want, steps)
		}
	}
	done := graph.Or(terminated, truncated)
	next := graph.Concatenate(0, graph.SliceAxis(values, 0, 1, values.Dim(0)), graph.Reshape(last, 1))
	next = graph.Select(terminated, 0., graph.Select(truncated, final, next))
	delta := graph.Sub(graph.Add(rewards, graph.Mul(gamma, next)), values)
	keep := graph.Mul(gamma, lambda)
	// Step by step from the end: an associative scan took 0.7 to 10 times as long on CPU with time as the first axis of 64 and more lanes.
	_, advantages = graph.Scan(func(behind *graph.Array, step [2]*graph.Array) (*graph.Array, *graph.Array) {
		a := graph.Add(step[1], graph.Select(step[0], 0., graph.Mul(keep, behind)))
		return a, a
	}, graph.ZerosLike(last), [2]*graph.Array{done, delta}, graph.ReverseScan())
	return graph.StopGradient(advantages), graph.StopGradient(graph.Add(advantages, values))
}
