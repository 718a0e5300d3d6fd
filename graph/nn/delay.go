package nn

import "xlarun/graph"

// Delay delays each unit's input by a number of steps, such as spikes on an axon. The state is a ring buffer of the
// last Longest steps. Derivatives go to the inputs, not to Steps.
type Delay struct {
	// [units] or [], in the input's type: the delays, rounded and clipped to 0 … Longest
	Steps   *graph.Array
	Longest int // 1 or more
}

// DelayState is the ring buffer and its position.
type DelayState struct {
	Ring *graph.Array // [Longest, units]: row t mod Longest is the input of step t
	At   *graph.Array // []: the row that this step writes
}

// Start is an empty buffer: zeros.
func (d Delay) Start(units int) DelayState {
	const op = "nn.Delay"
	wantSize(op, "Longest", d.Longest)
	wantSize(op, "units", units)
	wantParam(op, "Steps", d.Steps)
	t := d.Steps.DType()
	return DelayState{graph.Zeros(graph.ShapeOf(t, d.Longest, units)), graph.Zeros(graph.ShapeOf(t))}
}

// Step maps the state and an input x [units] to the next state and the delayed inputs [units]: for each unit its input
// of Steps steps ago, zero before the first step.
func (d Delay) Step(s DelayState, x *graph.Array) (next DelayState, arrived *graph.Array) {
	const op = "nn.Delay"
	if s.Ring == nil || s.Ring.Rank() != 2 || s.Ring.Dim(0) != d.Longest {
		graph.Throw(op, "got the state %v, want [%d, units], as Start makes it", s.Ring, d.Longest)
	}
	wantState(op, "state", s.Ring.Index(0), x)
	row := leadingIota(x, d.Longest)
	steps := graph.Clamp(0, d.Steps.Round(), float64(d.Longest))
	source := s.At.Sub(steps)
	source = graph.Select(source.Lt(0), source.Add(float64(d.Longest)), source)
	delayed := graph.Select(row.Eq(source), s.Ring, graph.ZerosLike(s.Ring)).Sum(0)
	following := s.At.Add(1)
	following = graph.Select(following.Ge(float64(d.Longest)), graph.ZerosLike(following), following)
	next = DelayState{Ring: graph.Select(row.Eq(s.At), x, s.Ring), At: following}
	return next, graph.Select(steps.Eq(0), x, delayed)
}

// Apply runs along time: from a state and inputs x [steps, units] to the last state and all delayed inputs [steps,
// units].
func (d Delay) Apply(s DelayState, x *graph.Array) (last DelayState, arrived *graph.Array) {
	wantTime("nn.Delay", x)
	return graph.Scan(d.Step, s, x)
}
