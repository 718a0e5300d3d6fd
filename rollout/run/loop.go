package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"weak"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// Loop is a Run made of a state on the devices and a compiled program that computes the next state. Most runs embed a
// Loop and override some of its methods. The state is the same on every device; several devices may run the program
// (graph.DeviceAxis).
type Loop struct {
	options      LoopOptions
	backend      xlabridge.Backend
	devices      int
	program      *xlabridge.Compiled
	other        *OtherStep // nil: program is called
	packing      *graph.Packing
	inputPacking *graph.Packing
	state        []*graph.Array              // on the devices, packed; nil after Close or a call that consumed it
	inputs       []*graph.Array              // packed
	hostInputs   []weak.Pointer[graph.Array] // the arrays on the host that inputs are copies of
	names        []string
	step         int64
	envSteps     float64 // see EnvSteps
	closed       bool
	profile      Profile
}

// ErrGone is the error of calls after Close, or after a round that failed and consumed the state.
var ErrGone = errors.New("the run was closed, or a round of it failed and its state is lost: start a new one, or " +
	"resume it")

// LoopOptions say how a Loop is made.
type LoopOptions struct {
	Name    string    // of the program: "generation"
	Purpose string    // what the program is for, as the cache shows it: Job.Purpose
	Plan    plan.Plan // its devices (0: one) and the options that it is compiled with
	// Computed: a program of its own computes the first state on the devices. Otherwise the interpreter computes it. It
	// takes less time for small states, and more time and memory for large ones.
	Computed bool
	// Undivided: one device does all the work, so that all cores share its large ops.
	Undivided bool
	// Packed: the small arrays of the state are passed to the program as one array, and so are the inputs (packing.go).
	// This pays for programs that take a few milliseconds.
	Packed bool
	// Counter counts the parts of a round. Its Input is among the inputs. nil: nothing is counted. The loop closes it.
	Counter *PartCounter
	// EnvSteps: snapshots have the number of environment steps so far, see Loop.EnvSteps.
	EnvSteps bool
	// Fits refuses the compiled program, before the state is on the devices, if it takes too much memory. nil: it fits.
	Fits func(Program) error
	// Only Loop.Step uses the fields below.
	Metrics []string // names of the results' numbers, leaf after leaf
	Work    float64  // of a round: what steps/s counts
	Goal    Value    // the run ends when this metric reaches the number; NaN or no name: never
}

// NewLoop compiles step for a backend and puts state and inputs on the devices. step is traced. From a state (a tree)
// and inputs that stay the same, it computes the next state, with the same structure and shapes, and results for the
// host. NewLoop refuses a state with two leaves of the same LeafName.
func NewLoop[S, I, R any](b xlabridge.Backend, o LoopOptions, state S, inputs I,
	step func(S, I) (S, R)) (*Loop, error) {
	return newLoop(b, o, state, inputs, func(state, inputs any) (next, results any) {
		next, results = step(state.(S), inputs.(I))
		return next, results
	})
}

// newLoop is NewLoop for trees of any type. It is compiled once, and not for each type.
func newLoop(b xlabridge.Backend, o LoopOptions, state, inputs any,
	step func(state, inputs any) (next, results any)) (loop *Loop, err error) {
	defer func() {
		if err != nil {
			o.Counter.Close()
		}
	}()
	l := &Loop{options: o, backend: b, devices: max(1, o.Plan.Devices)}
	names, err := leafNames(o.Name, state)
	if err != nil {
		return nil, err
	}
	l.names = names
	l.packing = packingOf(state, o.Packed)
	l.inputPacking = packingOf(inputs, o.Packed)
	p, err := l.trace(l.inputPacking, step)
	if err != nil {
		return nil, err
	}
	options := l.compileOptions()
	if l.program, err = b.Compile(p, options); err != nil {
		return nil, err
	}
	l.profile.Devices = l.devices
	if o.Plan.Tile > 0 {
		l.profile.Choice = plan.Choice{Plan: o.Plan.String(), Source: plan.Static}
	}
	l.profile.Account(ProgramOf(l.program))
	if o.Fits != nil {
		if err := o.Fits(ProgramOf(l.program)); err != nil {
			_ = l.program.Close()
			return nil, err
		}
	}
	if o.Computed {
		l.state, err = l.computed(options, state)
	} else {
		l.state, err = l.put(l.packing, state)
	}
	if err == nil {
		if err = l.putInputs(inputs); err != nil {
			xlabridge.Free(l.state)
		}
	}
	if err != nil {
		_ = l.program.Close()
		return nil, err
	}
	return l, nil
}

// trace returns the program of a step.
func (l *Loop) trace(inputs *graph.Packing, step func(state, inputs any) (next, results any)) (*graph.Program, error) {
	return graph.TraceArgs(l.options.Name, []any{l.packing.Abstract(), inputs.Abstract()}, graph.TraceOptions{
		Replicas: l.devices, Donate: []int{0}}, func(args []any) any {
		next, results := step(l.packing.Unpack(args[0].([]*graph.Array)), inputs.Unpack(args[1].([]*graph.Array)))
		return []any{l.packing.Pack(next), results}
	})
}

// compileOptions returns the options that a program of the loop is compiled with.
func (l *Loop) compileOptions() xlabridge.CompileOptions {
	options := l.options.Plan.Compile()
	options.Purpose = l.options.Purpose
	options.OneDevice = l.options.Undivided
	return options
}

// put packs a tree and puts it on the devices.
func (l *Loop) put(p *graph.Packing, tree any) ([]*graph.Array, error) {
	arrays, err := p.PackHost(tree)
	if err != nil {
		return nil, err
	}
	return xlabridge.Put(l.backend, l.devices, arrays)
}

// computed returns a lazy state, computed on the loop's devices and packed.
func (l *Loop) computed(options xlabridge.CompileOptions, state any) ([]*graph.Array, error) {
	p, err := graph.TraceArgs(l.options.Name+": start", nil, graph.TraceOptions{Replicas: l.devices}, func([]any) any {
		return l.packing.Pack(state)
	})
	if err != nil {
		return nil, err
	}
	program, err := l.backend.Compile(p, options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = program.Close() }()
	return program.Call(nil)
}

// leafNames returns the names of a state's leaves. They are unique: a snapshot has nothing else to tell leaves apart.
func leafNames(program string, state any) (names []string, err error) {
	err = graph.Try(func() {
		leaves, tree := graph.Flatten(state)
		paths := map[string]string{}
		for i := range leaves {
			name, path := LeafName(tree.Path(i)), tree.Path(i)
			if first, taken := paths[name]; taken {
				graph.Throw("NewLoop", "the state of the program %s has two arrays of the name %q in a snapshot, at "+
					"%s and at %s, want a name of its own for each: rename one, by more than capital letters and dots",
					program, name, first, path)
			}
			paths[name] = path
			names = append(names, name)
		}
	})
	return names, err
}

// LeafName returns a leaf's name in a snapshot, from its path in the tree: ".Strategy.LearningRate" becomes
// "strategy.learning_rate".
func LeafName(path string) string {
	name := []rune(safetensors.Name(path))
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && name[i-1] != '.' && (unicode.IsLower(name[i-1]) || i+1 < len(name) &&
			unicode.IsLower(name[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Advance runs the program once and returns its results, on the devices. The caller frees them.
func (l *Loop) Advance() ([]*graph.Array, error) {
	if l.state == nil {
		return nil, ErrGone
	}
	n := len(l.state)
	program, inputs := l.program, l.inputs
	if l.other != nil {
		program, inputs = l.other.program, l.other.inputs
	}
	args := append(slices.Clone(l.state), inputs...)
	l.state = nil // donated
	l.options.Counter.Begin()
	out, err := program.Call(args)
	if err != nil {
		return nil, err
	}
	l.state = out[:n:n]
	l.step++
	return out[n:], nil
}

// Numbers runs the program once and returns the numbers of all results on the host, leaf after leaf.
func (l *Loop) Numbers() (all []float64, err error) {
	out, err := l.Advance()
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	for _, a := range out {
		v, err := graph.Floats(a)
		if err != nil {
			return nil, err
		}
		all = append(all, v...)
	}
	return all, nil
}

// Step runs one round. Its results are the numbers of LoopOptions.Metrics.
func (l *Loop) Step(context.Context) (Metrics, error) {
	all, err := l.Numbers()
	if err != nil {
		return Metrics{}, err
	}
	if len(all) != len(l.options.Metrics) {
		return Metrics{}, fmt.Errorf("the program %s gives %d numbers, its metrics have %d names: give each a name",
			l.options.Name, len(all), len(l.options.Metrics))
	}
	m := Metrics{Step: l.step, Work: l.options.Work}
	for i, x := range all {
		m.Values = append(m.Values, Value{l.options.Metrics[i], x})
	}
	m.Done = l.reached(m.Number)
	return m, nil
}

// Describe returns what every loop can do: it knows LoopOptions.Goal, and has a program. A kind adds to it.
func (l *Loop) Describe() *Capabilities {
	return &Capabilities{Ending: l.ending, Reached: l.reached, Parts: l.Counter, Program: l.Compiled}
}

// reached reports whether a round has reached LoopOptions.Goal.
func (l *Loop) reached(metric func(name string) float64) bool {
	return metric(l.options.Goal.Name) >= l.options.Goal.Number
}

// ending returns the metric of the goal and the number that it has to reach; without a goal, the first metric.
func (l *Loop) ending(last Metrics) string {
	goal := l.options.Goal
	if x, ok := last.Get(goal.Name); ok && !math.IsNaN(goal.Number) {
		return fmt.Sprintf("%s %.4g, %.4g wanted", words(goal.Name), x, goal.Number)
	}
	if len(last.Values) == 0 {
		return "nothing was measured"
	}
	return fmt.Sprintf("%s %.4g", words(last.Values[0].Name), last.Values[0].Number)
}

// words returns a metric's name as words.
func words(metric string) string { return strings.ReplaceAll(metric, "_", " ") }

// WithCandidates makes a loop a Run with Members. candidates returns those of a state on the host; see
// Members.Candidates.
func WithCandidates[S any](l *Loop, candidates func(state S) []Candidate) Run {
	return loopWithMembers[S]{l, candidates}
}

type loopWithMembers[S any] struct {
	*Loop
	candidates func(state S) []Candidate
}

// Describe adds the members to what the loop can do.
func (c loopWithMembers[S]) Describe() *Capabilities {
	can := c.Loop.Describe()
	can.Members = c
	return can
}

// Candidates returns those of a snapshot.
func (c loopWithMembers[S]) Candidates(s Snapshot) ([]Candidate, error) {
	state, err := c.Unflatten(s)
	if err != nil {
		return nil, err
	}
	return c.candidates(state.(S)), nil
}

// HallEntries returns nil: there is no hall of fame.
func (c loopWithMembers[S]) HallEntries(Snapshot) ([]HallEntry, error) { return nil, nil }

// Steps returns the number of rounds that led to the state.
func (l *Loop) Steps() int64 { return l.step }

// EnvSteps points at the environment steps so far, those of all episodes until they ended. The run adds those of each
// round. They are a part of the loop's snapshots, if LoopOptions.EnvSteps says so.
func (l *Loop) EnvSteps() *float64 { return &l.envSteps }

// withEnvSteps adds the environment steps so far, f64[1], to a snapshot's arrays.
func (l *Loop) withEnvSteps(arrays map[string]*graph.Array) {
	if l.options.EnvSteps && arrays != nil {
		arrays[EnvSteps] = graph.Float64s([]float64{l.envSteps})
	}
}

// State returns the state, on the devices. In a loop with LoopOptions.Packed, small arrays are on the host.
func (l *Loop) State() (any, error) {
	if l.state == nil {
		return nil, ErrGone
	}
	return l.packing.UnpackHost(l.state)
}

// Counter returns LoopOptions.Counter.
func (l *Loop) Counter() *PartCounter { return l.options.Counter }

// SetInputs replaces the inputs by others with the same structure and shapes. Arrays that are among the inputs already
// stay on the devices. The error is ErrGone after Close.
func (l *Loop) SetInputs(inputs any) error {
	if l.closed {
		return ErrGone
	}
	arrays, err := l.inputPacking.PackHost(inputs)
	if err != nil {
		return err
	}
	put, hostInputs := slices.Clone(l.inputs), slices.Clone(l.hostInputs)
	var added, old []*graph.Array
	for i, a := range arrays {
		if weak.Make(a) == hostInputs[i] {
			continue
		}
		if put[i], err = xlabridge.Put(l.backend, l.devices, a); err != nil {
			xlabridge.Free(added)
			return err
		}
		added, old, hostInputs[i] = append(added, put[i]), append(old, l.inputs[i]), weak.Make(a)
	}
	xlabridge.Free(old)
	l.inputs, l.hostInputs = put, hostInputs
	return nil
}

// putInputs puts the first inputs on the devices.
func (l *Loop) putInputs(inputs any) error {
	arrays, err := l.inputPacking.PackHost(inputs)
	if err != nil {
		return err
	}
	if l.inputs, err = xlabridge.Put(l.backend, l.devices, arrays); err != nil {
		return err
	}
	for _, a := range arrays {
		l.hostInputs = append(l.hostInputs, weak.Make(a))
	}
	return nil
}

// SideProgram is a program beside a loop's step: a function of the loop's state, which it leaves as it is, and of
// inputs of its own.
type SideProgram struct {
	loop    *Loop
	program *xlabridge.Compiled
	packing *graph.Packing // of the inputs
}

// NewSideProgram compiles a program beside the loop's step. inputs are like those of its calls. f is traced; its
// results are the same on every device.
func NewSideProgram[S, I, R any](l *Loop, name string, inputs I, f func(S, I) R) (*SideProgram, error) {
	b := &SideProgram{loop: l, packing: packingOf(inputs, l.options.Packed)}
	p, err := graph.TraceArgs(l.options.Name+": "+name, []any{l.packing.Abstract(), b.packing.Abstract()},
		graph.TraceOptions{Replicas: l.devices}, func(args []any) any {
			state := l.packing.Unpack(args[0].([]*graph.Array)).(S)
			return f(state, b.packing.Unpack(args[1].([]*graph.Array)).(I))
		})
	if err != nil {
		return nil, err
	}
	b.program, err = l.backend.Compile(p, l.compileOptions())
	return b, err
}

// Call runs the program. It returns the leaves of its results, on the devices. The caller frees them.
func (b *SideProgram) Call(inputs any) ([]*graph.Array, error) {
	if b.loop.state == nil {
		return nil, ErrGone
	}
	put, err := b.loop.put(b.packing, inputs)
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(put)
	return b.program.Call(append(slices.Clone(b.loop.state), put...))
}

// Close frees the program.
func (b *SideProgram) Close() error { return b.program.Close() }

// Program returns what was compiled.
func (b *SideProgram) Program() Program { return ProgramOf(b.program) }

// OtherStep is another program for a loop's step, with inputs of its own that stay the same.
type OtherStep struct {
	program *xlabridge.Compiled
	inputs  []*graph.Array // packed, on the devices
}

// NewOtherStep compiles another program for a loop's step, as NewLoop does. From the same state it computes the same.
func NewOtherStep[S, I, R any](l *Loop, inputs I, step func(S, I) (S, R)) (*OtherStep, error) {
	packing := packingOf(inputs, l.options.Packed)
	p, err := l.trace(packing, func(state, inputs any) (next, results any) {
		next, results = step(state.(S), inputs.(I))
		return next, results
	})
	if err != nil {
		return nil, err
	}
	o := &OtherStep{}
	if o.program, err = l.backend.Compile(p, l.compileOptions()); err != nil {
		return nil, err
	}
	if o.inputs, err = l.put(packing, inputs); err != nil {
		return nil, errors.Join(err, o.program.Close())
	}
	return o, nil
}

// Close frees the program and its inputs.
func (o *OtherStep) Close() error {
	xlabridge.Free(o.inputs)
	return o.program.Close()
}

// Use sets the program of the next rounds; nil: the loop's own.
func (l *Loop) Use(o *OtherStep) { l.other = o }

// Inputs returns the inputs on the devices, in the order of their leaves, or packed.
func (l *Loop) Inputs() []*graph.Array { return l.inputs }

// Snapshot copies the state to the host.
func (l *Loop) Snapshot(ctx context.Context) (Snapshot, error) {
	if l.state == nil {
		return Snapshot{}, ErrGone
	}
	state, err := l.packing.UnpackHost(l.state)
	if err != nil {
		return Snapshot{}, err
	}
	arrays, err := Saved(ctx, state)
	l.withEnvSteps(arrays)
	return Snapshot{Step: l.step, Arrays: arrays}, err
}

// StateInPlace returns the state as Snapshot does, but arrays that are not packed stay on the devices. They are valid
// until the next Step, Restore or Close.
func (l *Loop) StateInPlace() (Snapshot, error) {
	state, err := l.State()
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Step: l.step, Arrays: map[string]*graph.Array{}}
	for i, a := range graph.Leaves(state) {
		s.Arrays[l.names[i]] = a
	}
	l.withEnvSteps(s.Arrays)
	return s, nil
}

// Restore replaces the state by a snapshot, also after a failed round. It replaces array by array, so that there is
// never room needed for two states. If an array cannot be transferred, or ctx ends, the state is lost.
func (l *Loop) Restore(ctx context.Context, s Snapshot) error {
	if l.closed {
		return ErrGone
	}
	state, err := l.Unflatten(s)
	if err != nil {
		return err
	}
	arrays, err := l.packing.PackHost(state)
	if err != nil {
		return err
	}
	old := l.state
	l.state = nil
	put := make([]*graph.Array, len(arrays))
	for i, a := range arrays {
		if err = ctx.Err(); err == nil {
			put[i], err = xlabridge.Put(l.backend, l.devices, a)
		}
		if err != nil {
			xlabridge.Free([][]*graph.Array{put[:i], old})
			return err
		}
		if old != nil {
			xlabridge.Free(old[i])
		}
	}
	l.state, l.step = put, s.Step
	if l.options.EnvSteps {
		steps, err := graph.Floats(s.Arrays[EnvSteps])
		if err != nil {
			return err
		}
		l.envSteps = steps[0]
	}
	return nil
}

// Unflatten returns a snapshot as the tree of the state, on the host.
func (l *Loop) Unflatten(s Snapshot) (any, error) {
	leaves := make([]*graph.Array, len(l.names))
	shapes := l.packing.Shapes()
	for i, name := range l.names {
		a, err := s.array(name, shapes[i])
		if err != nil {
			return nil, err
		}
		leaves[i] = a
	}
	wants := len(l.names)
	if l.options.EnvSteps {
		wants++
		if _, err := s.array(EnvSteps, graph.ShapeOf(graph.Float64, 1)); err != nil {
			return nil, err
		}
	}
	if len(s.Arrays) != wants {
		return nil, fmt.Errorf("the state has %d arrays, these settings want %d: restore what the same settings made",
			len(s.Arrays), wants)
	}
	return l.packing.Tree().Unflatten(leaves), nil
}

// widened returns numbers that an earlier version kept in float32, such as counts, in the dtype that the state has now.
// Other arrays, and numbers that an int32 does not hold, stay as they are.
func widened(a *graph.Array, now graph.DType) *graph.Array {
	if a.DType() != graph.Float32 || now != graph.Float64 && now != graph.Int32 {
		return a
	}
	numbers, err := graph.Floats(a)
	if err != nil {
		return a
	}
	if now == graph.Float64 {
		return graph.Float64s(numbers, a.Dims()...)
	}
	counts := make([]int32, len(numbers))
	for i, x := range numbers {
		if counts[i] = int32(x); float64(counts[i]) != x {
			return a
		}
	}
	return graph.Int32s(counts, a.Dims()...)
}

// Profile returns what was compiled.
func (l *Loop) Profile() Profile { return l.profile }

// Compiled returns the program.
func (l *Loop) Compiled() *xlabridge.Compiled { return l.program }

// Close frees the state and the program.
func (l *Loop) Close() error {
	xlabridge.Free(l.state)
	xlabridge.Free(l.inputs)
	l.state, l.inputs, l.closed = nil, nil, true
	err := l.program.Close()
	l.options.Counter.Close()
	return err
}

// WarmUp runs one round and restores the state to the bit, so that the next Step finds code, memory and caches warm. It
// returns the seconds that the round took.
func WarmUp(ctx context.Context, r Run) (seconds float64, err error) {
	before, err := r.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if _, err := r.Step(ctx); err != nil {
		return 0, err
	}
	seconds = time.Since(start).Seconds()
	return seconds, r.Restore(ctx, before)
}
