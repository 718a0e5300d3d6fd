package run

import (
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Phase is a part of a round that was run alone. Alone it is another program than inside of the round: there it may
// share work and memory with other parts, so the phases of a round may take more or less time than the round.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // the median of Runs
	// Runs are seconds of a unit of work, from each timed call, the shortest first.
	Runs  []float64 `json:"-"`
	Units int       `json:"-"` // units of work in a call
	// Times is how often the part runs in one of what Kind.Unit counts: 0.02 if every 50th step has it. 0: once.
	Times float64 `json:"times"`
	// Cost is the work of one run of the part on all devices; zero: it is not known.
	Cost graph.Cost `json:"-"`
}

// PerUnit returns Times, 1 for 0.
func (p Phase) PerUnit() float64 {
	if p.Times == 0 {
		return 1
	}
	return p.Times
}

// PhaseSeconds returns the seconds that all phases take in one of what Kind.Unit counts.
func PhaseSeconds(phases []Phase) (sum float64) {
	for _, p := range phases {
		sum += p.Seconds * p.PerUnit()
	}
	return sum
}

// TimePhase times a part of a round. It calls f once to warm up, then `repeats` times. The times are divided by units,
// the number of units of work in a call.
func TimePhase(name string, repeats, units int, f func() error) (Phase, error) {
	seconds := make([]float64, repeats)
	for i := range 1 + repeats {
		start := time.Now()
		if err := f(); err != nil {
			return Phase{Name: name}, err
		}
		if i > 0 {
			seconds[i-1] = time.Since(start).Seconds() / float64(units)
		}
	}
	slices.Sort(seconds)
	return Phase{Name: name, Seconds: (seconds[(repeats-1)/2] + seconds[repeats/2]) / 2, Runs: seconds, Units: units,
		Times: 1}, nil
}

// PhaseTimer times the parts of a Loop's step, each as a program of its own. The state does not change.
type PhaseTimer struct {
	loop    *Loop
	repeats int
	cost    func(*graph.Graph) graph.Cost
	results [][]*graph.Array // of the parts so far, on the devices, packed
	packing []*graph.Packing // of these results
	phases  []Phase
	err     error
}

// PhaseTimer returns a timer that runs each part `repeats` times after a first one. cost counts the work of a traced
// part on one device.
func (l *Loop) PhaseTimer(repeats int, cost func(*graph.Graph) graph.Cost) *PhaseTimer {
	t := &PhaseTimer{loop: l, repeats: repeats, cost: cost}
	if l.state == nil {
		t.err = ErrGone
	}
	return t
}

// Time times the next part. It is a function of the state and the inputs of the Loop's step, and of the results of the
// parts before it, which are trees. After an error Time does nothing.
func (t *PhaseTimer) Time(name string, part func(state, inputs any, before []any) any) {
	if t.err == nil {
		t.err = t.time(name, part)
	}
}

func (t *PhaseTimer) time(name string, part func(state, inputs any, before []any) any) error {
	l := t.loop
	before := make([]any, len(t.packing))
	arrays := slices.Concat(l.state, l.inputs)
	for i, p := range t.packing {
		before[i] = p.Abstract()
		arrays = append(arrays, t.results[i]...)
	}
	var packing *graph.Packing
	traced, err := graph.TraceArgs(l.options.Name+": "+name, []any{l.packing.Abstract(), l.inputPacking.Abstract(),
		before}, graph.TraceOptions{Replicas: l.devices}, func(args []any) any {
		before := args[2].([]any)
		for i, p := range t.packing {
			before[i] = p.Unpack(before[i].([]*graph.Array))
		}
		out := part(l.packing.Unpack(args[0].([]*graph.Array)), l.inputPacking.Unpack(args[1].([]*graph.Array)), before)
		packing = packingOf(out, l.options.Packed)
		return packing.Pack(out)
	})
	if err != nil {
		return err
	}
	options := l.compileOptions()
	options.Purpose = "profile of " + l.options.Purpose
	program, err := l.backend.Compile(traced, options)
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }()
	var out []*graph.Array
	phase, err := TimePhase(name, t.repeats, 1, func() (err error) {
		xlabridge.Free(out)
		out, err = program.Call(arrays)
		return err
	})
	if err != nil {
		return err
	}
	phase.Cost = t.cost(traced.Graph).Times(float64(l.devices))
	t.phases, t.results, t.packing = append(t.phases, phase), append(t.results, out), append(t.packing, packing)
	return nil
}

// Phases frees the results and returns the phases, or the first error.
func (t *PhaseTimer) Phases() ([]Phase, error) {
	xlabridge.Free(t.results)
	t.results = nil
	if t.err != nil {
		return nil, t.err
	}
	return t.phases, nil
}
