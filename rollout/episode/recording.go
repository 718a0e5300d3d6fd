package episode

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// Recording is one episode, on the host, up to its end.
type Recording struct {
	Length  int       // steps until the episode ended, that one included; Rollout.Steps if it did not end
	Rewards []float64 // [Length]: of each step
	Returns []float64 // [Length]: sum of the rewards up to and including each step, in float32 like Summary.Return
	// Terminated and Truncated belong to the last step. Both are false if Rollout.Steps ended the episode.
	Terminated, Truncated bool

	states       recorded // [Length+1]: from the first state to the last
	actions      recorded // [Length]
	observations recorded // [Length]; only of a recording by NewTracer
}

// recorded is a tree whose leaves have a row for each step.
type recorded struct {
	tree  *graph.Tree
	rows  []graph.Shape // of a row of each leaf
	bytes [][]byte      // row-major
}

// row returns row i of all leaves.
func (r recorded) row(i int) any {
	leaves := make([]*graph.Array, len(r.rows))
	for j, row := range r.rows {
		n := row.Bytes()
		leaves[j] = graph.FromBytes(row, r.bytes[j][i*n:(i+1)*n:(i+1)*n])
	}
	return r.tree.Unflatten(leaves)
}

// State returns the environment's state after step i, from 0 to Length.
func (r *Recording) State(i int) any { return r.states.row(i) }

// Action returns the action of step i, from 1 to Length.
func (r *Recording) Action(i int) *graph.Array { return r.actions.row(i - 1).(*graph.Array) }

// Observation returns the observation before the action of step i, from 1 to Length, in a recording by NewTracer.
func (r *Recording) Observation(i int) *graph.Array {
	return r.observations.row(i - 1).(*graph.Array)
}

// Trajectory returns a recording by NewTracer as arrays with a row for each step: "observations" (before each action),
// "actions" and "rewards", f32[Length].
func (r *Recording) Trajectory() map[string]*graph.Array {
	rewards := make([]float32, len(r.Rewards))
	for i, x := range r.Rewards {
		rewards[i] = float32(x)
	}
	whole := func(rows recorded) *graph.Array {
		return graph.FromBytes(graph.ShapeOf(rows.rows[0].DType, append([]int{r.Length}, rows.rows[0].Dims...)...),
			rows.bytes[0])
	}
	return map[string]*graph.Array{"observations": whole(r.observations), "actions": whole(r.actions),
		"rewards": graph.Float32s(rewards)}
}

// Return returns the sum of the rewards of the first i steps.
func (r *Recording) Return(i int) float64 {
	if i == 0 {
		return 0
	}
	return r.Returns[i-1]
}

// Record plays and records one episode.
func Record(b xlabridge.Backend, r *Rollout, params any, key random.Key) (*Recording, error) {
	recorder, err := NewRecorder(b, r, params)
	if err != nil {
		return nil, err
	}
	defer func() { _ = recorder.Close() }()
	return recorder.Record(params, key)
}

// Recorder plays one episode of one member at a time, and records it on the host.
type Recorder struct {
	program *xlabridge.Compiled
	inputs  []*graph.Array // of the rollout
	out     *graph.Tree
}

type recordedRows struct {
	State       any          // after the step
	Observation *graph.Array `tree:"optional"`
	Action      *graph.Array
	Reward      *graph.Array
	Terminated  *graph.Array
	Truncated   *graph.Array
}

type film struct {
	Start any // the first state
	Rows  recordedRows
}

// NewRecorder compiles the program for members with parameters like params. It ignores the plan of r, which is for
// populations.
func NewRecorder(b xlabridge.Backend, r *Rollout, params any) (*Recorder, error) {
	return newRecorder(b, r, params, false)
}

// NewTracer is NewRecorder with the observations in the recordings.
func NewTracer(b xlabridge.Backend, r *Rollout, params any) (*Recorder, error) {
	return newRecorder(b, r, params, true)
}

func newRecorder(b xlabridge.Backend, r *Rollout, params any, observed bool) (*Recorder, error) {
	one := *r
	one.Plan = plan.Plan{}
	if one.Steps < 1 {
		return nil, fmt.Errorf("episode: a recording of %d steps, want 1 or more", one.Steps)
	}
	in, err := graph.Eval(one.Inputs())
	if err != nil {
		return nil, err
	}
	p, err := graph.TraceArgs("recording", []any{params, random.New(0), in}, graph.TraceOptions{},
		func(args []any) any {
			one := one.Bound(args[2].(map[string]*graph.Array))
			key := args[1].(random.Key)
			again := random.Clone(key) // Play makes the same state
			start, _ := one.Env.Reset(random.FoldIn(again, 0), one.envParams(again))
			_, steps := Play(one, args[0], key, func(s Step) recordedRows {
				rows := recordedRows{State: s.After, Action: s.Action, Reward: s.Reward, Terminated: s.Terminated,
					Truncated: s.Truncated}
				if observed {
					rows.Observation = s.Observation
				}
				return rows
			})
			return film{start, steps}
		})
	if err != nil {
		return nil, err
	}
	program, err := b.Compile(p, xlabridge.CompileOptions{
		Purpose: fmt.Sprintf("recording of an episode of %s, %d steps", r.Env.Spec().ID, r.Steps)})
	if err != nil {
		return nil, err
	}
	return &Recorder{program, graph.Leaves(in), p.OutTree()}, nil
}

// Record plays the episode that Rollout.Episode plays with the same key.
func (r *Recorder) Record(params any, key random.Key) (*Recording, error) {
	params, err := graph.Eval(params)
	if err != nil {
		return nil, err
	}
	if key, err = graph.Eval(key); err != nil {
		return nil, err
	}
	out, err := r.program.Call(append(append(graph.Leaves(params), key.Data), r.inputs...))
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	f, ok := r.out.Unflatten(out).(film)
	if !ok {
		return nil, fmt.Errorf("episode: the recording is a %T, want a %T", r.out.Unflatten(out), f)
	}
	recording, err := newRecording(f.Start, f.Rows.State, f.Rows.Action, f.Rows.Reward, f.Rows.Terminated,
		f.Rows.Truncated)
	if err == nil && f.Rows.Observation != nil {
		recording.observations, err = read(nil, f.Rows.Observation, recording.Length)
	}
	return recording, err
}

// Close frees the program.
func (r *Recorder) Close() error { return r.program.Close() }

// newRecording reads the program's outputs up to the end of the episode.
func newRecording(start, states any, action, reward, terminated, truncated *graph.Array) (*Recording, error) {
	rewards, err := graph.Floats(reward)
	if err != nil {
		return nil, err
	}
	terminations, err := graph.Floats(terminated)
	if err != nil {
		return nil, err
	}
	truncations, err := graph.Floats(truncated)
	if err != nil {
		return nil, err
	}
	r := &Recording{}
	sum := float32(0)
	for i, x := range rewards {
		sum += float32(x)
		r.Rewards = append(r.Rewards, x)
		r.Returns = append(r.Returns, float64(sum))
		r.Length++
		if r.Terminated, r.Truncated = terminations[i] != 0, truncations[i] != 0; r.Terminated || r.Truncated {
			break
		}
	}
	if r.actions, err = read(nil, action, r.Length); err != nil {
		return nil, err
	}
	r.states, err = read(start, states, r.Length)
	return r, err
}

// read copies the first n rows of a tree's leaves to the host, after the row first unless it is nil. It reads each leaf
// once.
func read(first, rows any, n int) (r recorded, err error) {
	var leaves []*graph.Array
	leaves, r.tree = graph.Flatten(rows)
	var before []*graph.Array
	if first != nil {
		before = graph.Leaves(first)
	}
	for i, a := range leaves {
		row := graph.ShapeOf(a.DType(), a.Dims()[1:]...)
		var bytes []byte
		if before != nil {
			if bytes, err = graph.HostBytes(before[i]); err != nil {
				return r, err
			}
		}
		all, err := graph.HostBytes(a)
		if err != nil {
			return r, err
		}
		bytes = append(bytes[:len(bytes):len(bytes)], all[:n*row.Bytes()]...)
		r.rows, r.bytes = append(r.rows, row), append(r.bytes, bytes)
	}
	return r, nil
}
