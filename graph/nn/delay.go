package nn

import "xlarun/graph"

// Delay holds numbers up for some steps each, such as a neuron's spikes on their way. Only the last Longest steps are
// carried, in a ring. Delays have no derivative; what is held up has its own.
type Delay struct {
	// [units] or [], of the input's type: whole numbers of 0 to Longest; others are rounded, and taken as the nearest
	// of these
	Steps   *graph.Array
	Longest int // 1 or more
}

// DelayState is what is under way.
type DelayState struct {
	Ring *graph.Array // [Longest, units]: row t mod Longest is the input of step t
	At   *graph.Array // []: the row that this step fills
}

// Start is the state before the first step of so many units: nothing is under way.
func (d Delay) Start(units int) DelayState {
	const op = "nn.Delay"
	wantSize(op, "Longest", d.Longest)
	wantSize(op, "units", units)
	wantParam(op, "Steps", d.Steps)
	t := d.Steps.DType()
	return DelayState{graph.Zeros(graph.ShapeOf(t, d.Longest, units)), graph.Zeros(graph.ShapeOf(t))}
}

// Step maps the state and an input x [units] to the next state and what arrives in this step [units]: of each unit the
// input of so many steps ago, zero before the first.
func (d Delay) Step(s DelayState, x *graph.Array) (next DelayState, arrived *graph.Array) {
	const op = "nn.Delay"
	if s.Ring == nil || s.Ring.Rank() != 2 || s.Ring.Dim(0) != d.Longest {
		graph.Throw(op, "got the state %v, want [%d, units], as Start makes it", s.Ring, d.Longest)
	}
	wantState(op, "state", s.Ring.Index(0), x)
	row := numbered(x, d.Longest, 0, 1)
	steps := graph.Clamp(0, d.Steps.Round(), float64(d.Longest))
	from := s.At.Sub(steps)
	from = graph.Select(from.Lt(0), from.Add(float64(d.Longest)), from)
	held := graph.Select(row.Eq(from), s.Ring, graph.ZerosLike(s.Ring)).Sum(0)
	after := s.At.Add(1)
	next = DelayState{graph.Select(row.Eq(s.At), x, s.Ring), graph.Select(after.Ge(float64(d.Longest)),
		graph.ZerosLike(after), after)}
	return next, graph.Select(steps.Eq(0), x, held)
}

// Apply runs along time: from a state and inputs x [steps, units] to the last state and all that arrives [steps,
// units].
func (d Delay) Apply(s DelayState, x *graph.Array) (last DelayState, arrived *graph.Array) {
	wantTime("nn.Delay", x)
	return graph.Scan(d.Step, s, x)
}
