// Package mujoco has the eleven MuJoCo tasks of Gymnasium 1.x (v5), with MuJoCo's dynamics inside the program
// (xlarun/envs/bodies). A file is a task: what is observed, rewarded, and when an episode ends. Numbers are those of
// Gymnasium's classes; parameters and sizes have the names of their arguments.
package mujoco

import (
	"embed"
	"fmt"
	"image"
	"reflect"
	"slices"
	"sync"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/bodies/mjcf"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

//go:embed *.xml
var models embed.FS

// model reads a model of this package when it is first needed.
func model(file string) func() *bodies.Model {
	return sync.OnceValue(func() *bodies.Model {
		m, err := mjcf.Read(models, file)
		if err != nil {
			panic(err)
		}
		return m
	})
}

// Task is an environment over a model. Its state is MuJoCo's; its functions say what Gymnasium's class says.
type Task struct {
	ID              string
	Model           func() *bodies.Model
	Engine          int // whose rules: MuJoCo 4 or 3
	FrameSkip       int // substeps of a step
	MaxSteps        int
	RewardThreshold float64
	Frames          bodies.Part // what Observation and Reward read of State.Frames
	Flags           []Flag      // parts of the observation, and omni
	MainBody        int         // the body whose speed is rewarded, a size on the command line; 0: none is said
	Params          Params      // without MaxSteps
	// Start draws the first position f32[nq] and velocity f32[nv]; nil: the model's first configuration, at rest.
	Start func(t Task, key random.Key, p Params) (q, v *graph.Array)
	// Observation lists the parts of an observation, vectors of Width elements in all.
	Observation func(t Task, s State) []*graph.Array
	Width       func(t Task) int
	// Reward is of a step, and whether the task ended. Then further steps move Time alone, have the reward 0,
	// and cost nothing on CPUs.
	Reward func(x Transition) (reward, terminated *graph.Array)
	// Factors makes FrictionFactor, MassFactor, GearFactor and GravityFactor parameters, of tasks without Design: those
	// that change something.
	Factors bool
	// Design makes numbers of the model from the part of an action behind the controls, f32[Designs] within ±1, so that
	// a member brings its own body. nil: actions are controls. A reset knows no action: its Frames are of design 0.
	Designs int
	Design  func(m *bodies.Model, design *graph.Array) bodies.Params
	// Feet are the geoms whose shares of time on the ground describe an episode to qd; none: nothing does.
	Feet []string
	// View is the box of a picture, x and z, which follows the first body along x; Above: x and y, which stays. Without
	// one it is 2.4 m wide, around the first body.
	View  [2]draw.Point
	Above bool
}

// Flag is a choice, such as a part of the observation that can be left out: 0 or 1, a size on the command line.
type Flag struct {
	Name string
	On   bool
}

// Params are float32 scalars with the names of Gymnasium's arguments; those that a task lacks are nil. MaxSteps is an
// int32 scalar. A range of Gymnasium's, such as healthy_z_range, is two of them.
type Params struct {
	ForwardRewardWeight    *graph.Array `tree:"optional"`
	CtrlCostWeight         *graph.Array `tree:"optional"`
	ContactCostWeight      *graph.Array `tree:"optional"`
	HealthyReward          *graph.Array `tree:"optional"`
	TerminateWhenUnhealthy *graph.Array `tree:"optional" min:"0" max:"1"`
	HealthyStateMin        *graph.Array `tree:"optional"`
	HealthyStateMax        *graph.Array `tree:"optional"`
	HealthyZMin            *graph.Array `tree:"optional"`
	HealthyZMax            *graph.Array `tree:"optional"`
	HealthyAngleMin        *graph.Array `tree:"optional"`
	HealthyAngleMax        *graph.Array `tree:"optional"`
	ContactForceMin        *graph.Array `tree:"optional"`
	ContactForceMax        *graph.Array `tree:"optional"`
	ContactCostMin         *graph.Array `tree:"optional"`
	ContactCostMax         *graph.Array `tree:"optional"`
	UphCostWeight          *graph.Array `tree:"optional"`
	ImpactCostWeight       *graph.Array `tree:"optional"`
	ImpactCostMin          *graph.Array `tree:"optional"`
	ImpactCostMax          *graph.Array `tree:"optional"`
	RewardNearWeight       *graph.Array `tree:"optional"`
	RewardDistWeight       *graph.Array `tree:"optional"`
	RewardControlWeight    *graph.Array `tree:"optional"`
	ResetNoiseScale        *graph.Array `tree:"optional" min:"0"`
	FrictionFactor         *graph.Array `tree:"optional" min:"0.01"` // of the model's numbers; nil: 1
	MassFactor             *graph.Array `tree:"optional" min:"0.001"`
	GearFactor             *graph.Array `tree:"optional"`
	GravityFactor          *graph.Array `tree:"optional"`
	MaxSteps               *graph.Array `min:"1"`
}

// State is f32: the model's state, and what was seen of the last evaluation. Time, the steps played, is an int32
// scalar, and Ended, whether a step terminated, a bool scalar.
type State struct {
	Data   bodies.Data
	Frames bodies.Frames
	Design *graph.Array `tree:"optional"` // of the last action, f32[Designs]; nil: the task has none
	Time   *graph.Array
	Ended  *graph.Array `tree:"optional"` // nil: steps go on after the end
}

// Transition is a step: Travel of After's Frames is how far joints went in it.
type Transition struct {
	Task          Task
	Before, After State
	Action        *graph.Array
	Params        Params
	Seconds       float64
}

// register makes a task known under its ID.
func register(t Task) {
	if err := envs.Register(t.ID, func() envs.Environment { return envs.Erase(t) }); err != nil {
		panic(err)
	}
}

// Spec describes the task. Actions are controls within the model's ranges; observations have no bounds.
func (t Task) Spec() envs.Spec {
	var low, high []float64
	if err := t.check(); err != nil {
		envs.Refuse(t.ID, "%v", err)
	}
	for _, a := range t.Model().Actuators {
		limits := a.ControlRange
		if !a.ControlLimited {
			limits = [2]float64{-envs.Unbounded, envs.Unbounded}
		}
		low, high = append(low, limits[0]), append(high, limits[1])
	}
	low, high = append(low, slices.Repeat([]float64{-1}, t.Designs)...), append(high, slices.Repeat([]float64{1},
		t.Designs)...)
	descriptor, names := t.descriptor()
	return envs.Spec{ID: t.ID, MaxSteps: t.MaxSteps, RewardThreshold: t.RewardThreshold,
		Lanes: bodies.Lanes, Descriptor: descriptor, Descriptors: names,
		Observation: envs.Symmetric(slices.Repeat([]float64{envs.Unbounded}, t.Width(t))...),
		Action:      envs.Box{Low: low, High: high, Dims: []int{len(low)}, DType: graph.Float32}}
}

// check says which field of a task is missing.
func (t Task) check() error {
	for _, f := range []struct {
		name  string
		ok    bool
		wants string
	}{{"Model", t.Model != nil, "a function that returns the model"},
		{"Engine", t.Engine == 3 || t.Engine == 4, "3 or 4, the MuJoCo whose rules hold"},
		{"FrameSkip", t.FrameSkip >= 1 && t.FrameSkip <= mostSkip, fmt.Sprint(skips, ", the substeps of a step")},
		{"Observation", t.Observation != nil, "a function that returns the parts of an observation"},
		{"Width", t.Width != nil, "a function that returns the length of an observation"},
		{"Reward", t.Reward != nil, "a function that returns a step's reward, and whether the task ended"},
	} {
		if !f.ok {
			return fmt.Errorf("the field %s of the task has no right value: want %s", f.name, f.wants)
		}
	}
	return nil
}

// reads calls a function of the task that reads parameters. If it fails for one that the task lacks, that is named.
func (t Task) reads(function string, p Params, call func(p Params)) {
	err := graph.Try(func() { call(p) })
	if err == nil {
		return
	}
	fails := func() bool { return graph.Try(func() { call(p) }) != nil }
	all, one := reflect.ValueOf(&p).Elem(), reflect.ValueOf(graph.Scalar(1))
	var lacking []int
	for i := range all.NumField() {
		if all.Field(i).IsNil() {
			lacking = append(lacking, i)
			all.Field(i).Set(one)
		}
	}
	if fails() {
		panic(err)
	}
	for _, i := range lacking {
		all.Field(i).SetZero()
		if fails() {
			envs.Refuse(t.ID, "%s reads the parameter %s, which the task's Params lack: give it a value", function,
				all.Type().Field(i).Name)
		}
		all.Field(i).Set(one)
	}
	panic(err)
}

const mostSkip = 1000

var skips = fmt.Sprint("a whole number from 1 to ", mostSkip)

// DefaultParams are Gymnasium's.
func (t Task) DefaultParams() Params {
	p := t.Params
	p.MaxSteps = envs.Steps(t.MaxSteps)
	if !t.Factors {
		return p
	}
	m := t.Model()
	p.MassFactor, p.GearFactor = graph.Scalar(1), graph.Scalar(1)
	if m.Gravity != [3]float64{} {
		p.GravityFactor = graph.Scalar(1)
	}
	if slices.ContainsFunc(m.Pairs, func(p bodies.Pair) bool { // with condim 1 there is no friction
		return max(m.Geoms[p.Geoms[0]].Condim, m.Geoms[p.Geoms[1]].Condim) > 1
	}) {
		p.FrictionFactor = graph.Scalar(1)
	}
	return p
}

// Reset draws a state, and evaluates it once.
func (t Task) Reset(key random.Key, p Params) (State, *graph.Array) {
	_, nv, nu := t.Model().Sizes()
	q, v := graph.Of(t.Model().Rest()).Convert(graph.Float32), zeros(nv)
	if t.Start != nil {
		t.reads("Start", p, func(p Params) { q, v = t.Start(t, key, p) })
	}
	s := State{Data: bodies.Data{Q: q, V: v, Warm: zeros(nv)}, Time: envs.Steps(0), Ended: envs.False()}
	s.Frames.Travel = zeros(nv)
	if t.Design != nil {
		s.Design = zeros(t.Designs)
	}
	if t.Frames != 0 {
		o := t.options()
		o.Frames &^= bodies.Contacts
		s.Frames = t.Model().Forward(s.Data, zeros(nu), t.numbers(p, s.Design), o)
		if t.Frames&bodies.Contacts != 0 { // Gymnasium computes contact forces after steps only
			s.Frames.Force = graph.Zeros(graph.ShapeOf(graph.Float32, len(t.Model().Bodies), 6))
		}
	}
	return s, t.Observe(s, p)
}

// Step plays the action as control, which the model clips. The key is not used.
func (t Task) Step(_ random.Key, s State, action *graph.Array,
	p Params) (next State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(t.Spec(), action)
	if t.Design != nil {
		_, _, nu := t.Model().Sizes()
		action, next.Design = cut(action, 0, nu), cut(action, nu, nu+t.Designs)
	}
	o := t.options()
	if s.Ended != nil {
		o.Only = s.Ended.Not()
	}
	next.Data, next.Frames = t.Model().Step(s.Data, action, t.numbers(p, next.Design), o)
	if s.Ended != nil {
		next.Time, next.Ended = s.Time, s.Ended
		next = graph.SelectTree(s.Ended, s, next)
	}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	obs, reward, terminated = t.outcome(s, next, action, p)
	if s.Ended != nil {
		reward = graph.Select(s.Ended, 0, reward)
		next.Ended = s.Ended.Or(terminated)
		terminated = next.Ended
	}
	return next, obs, reward, terminated, truncated
}

// numbers are those of a design, if the task has designs, or the model's own by the factors that the parameters have.
func (t Task) numbers(p Params, design *graph.Array) bodies.Params {
	if t.Design != nil {
		return t.Design(t.Model(), design)
	}
	own := t.Model().Params()
	times := func(of, factor *graph.Array) *graph.Array {
		if factor == nil {
			return nil
		}
		return of.Mul(factor)
	}
	return bodies.Params{Friction: times(own.Friction, p.FrictionFactor), Mass: times(own.Mass, p.MassFactor),
		Inertia: times(own.Inertia, p.MassFactor), Gear: times(own.Gear, p.GearFactor),
		Gravity: times(own.Gravity, p.GravityFactor)}
}

// outcome is what the task observes after a step, and its reward.
func (t Task) outcome(s, next State, action *graph.Array, p Params) (obs, reward, terminated *graph.Array) {
	t.reads("Reward", p, func(p Params) {
		reward, terminated = t.Reward(Transition{t, s, next, action, p, t.Model().Timestep * float64(t.FrameSkip)})
	})
	return t.Observe(next, p), reward, terminated
}

// Observe is what Gymnasium's task observes.
func (t Task) Observe(s State, _ Params) *graph.Array {
	return graph.Concatenate(0, t.Observation(t, s)...)
}

func (t Task) options() bodies.Options {
	return bodies.Options{Engine: t.Engine, Skip: t.FrameSkip, Frames: t.Frames}
}

// on says whether a flag is set.
func (t Task) on(name string) bool {
	for _, f := range t.Flags {
		if f.Name == name {
			return f.On
		}
	}
	panic("no flag " + name)
}

// Traits are pictures, sizes, and what describes episodes.
func (t Task) Traits() envs.Traits[State, Params] {
	traits := envs.Traits[State, Params]{Draw: t.draw, Sizes: t.sizes, Resize: t.resize}
	switch {
	case t.omni():
		traits.Describe = t.lastPlace
	case len(t.Feet) > 0:
		traits.DescribeStep = t.onGround
	}
	return traits
}

// draw follows the first body along x.
func (t Task) draw(state any, size image.Point) (image.Image, error) {
	m := t.Model()
	nq, _, _ := m.Sizes()
	q := make([]float64, nq)
	x := 0.0
	if s, ok := state.(State); ok && s.Data.Q != nil && s.Data.Q.Rank() == 1 {
		if v, err := graph.Floats(s.Data.Q); err == nil {
			x = m.Along(v)
		}
	}
	low, high := t.View[0], t.View[1]
	if low == high {
		at := m.Bodies[m.Joints[0].Body].Pos
		low, high = draw.At(at[0]-1.2, at[2]-1), draw.At(at[0]+1.2, at[2]+1)
		if t.Above {
			low.Y, high.Y = at[1]-1, at[1]+1
		}
	}
	if !t.Above {
		low.X, high.X = low.X+x, high.X+x
	}
	c := draw.NewCanvas(size, low, high)
	copy(q, draw.Grid(c, t.ID, state, func(s State) *graph.Array { return s.Data.Q }, nq))
	var numbers bodies.Params
	if s, ok := state.(State); ok && s.Design != nil {
		numbers = t.numbers(Params{}, s.Design)
	}
	m.Draw(c, q, numbers, t.Above, draw.Accent, draw.Wood, draw.Steel, draw.Signal)
	return c.Image()
}

func (t Task) sizes() []envs.Size {
	out := []envs.Size{{Name: "engine", Value: t.Engine, Wants: "3 or 4"},
		{Name: "frame-skip", Value: t.FrameSkip, Wants: skips}}
	if t.MainBody > 0 {
		out = append(out, envs.Size{Name: "main-body", Value: t.MainBody,
			Wants: fmt.Sprint("a whole number from 1 to ", len(t.Model().Bodies)-1)})
	}
	flags := t.Flags
	if t.Design == nil {
		flags = append([]Flag{{"factors", t.Factors}}, flags...)
	}
	for _, f := range flags {
		value := 0
		if f.On {
			value = 1
		}
		out = append(out, envs.Size{Name: f.Name, Value: value, Wants: "0 or 1"})
	}
	return out
}

func (t Task) resize(name string, value int) (envs.Environment, error) {
	for _, s := range t.sizes() {
		if s.Name != name {
			continue
		}
		ok := value == 0 || value == 1
		switch name {
		case "engine":
			t.Engine = value
			ok = t.check() == nil
		case "frame-skip":
			t.FrameSkip = value
			ok = t.check() == nil
		case "main-body":
			ok = value >= 1 && value < len(t.Model().Bodies)
			t.MainBody = value
		case "factors":
			t.Factors = value == 1
		default:
			t.Flags = slices.Clone(t.Flags)
			t.Flags[slices.IndexFunc(t.Flags, func(f Flag) bool { return f.Name == name })].On = value == 1
		}
		if !ok {
			return nil, fmt.Errorf("envs: %s: got %s %d, want %s", t.ID, name, value, s.Wants)
		}
		return envs.Erase(t), nil
	}
	return nil, fmt.Errorf("envs: %s has no size %q", t.ID, name)
}

func zeros(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, n)) }

// noise is a start near the model's first configuration: positions uniform within ±reset_noise_scale, and velocities
// too, or normal with that standard deviation.
func noise(normal bool) func(t Task, key random.Key, p Params) (q, v *graph.Array) {
	return func(t Task, key random.Key, p Params) (q, v *graph.Array) {
		m := t.Model()
		nq, nv, _ := m.Sizes()
		keys := random.SplitN(key, 2)
		one := graph.Scalar(1)
		uniform := func(key random.Key, n int) *graph.Array {
			return random.Uniform(key, graph.ShapeOf(graph.Float32, n), one.Neg(), one).Mul(p.ResetNoiseScale)
		}
		q = graph.Of(m.Rest()).Convert(graph.Float32).Add(uniform(keys[0], nq))
		if normal {
			return q, random.Normal(keys[1], graph.ShapeOf(graph.Float32, nv)).Mul(p.ResetNoiseScale)
		}
		return q, uniform(keys[1], nv)
	}
}

// exclude is the flag that leaves the first positions out.
var exclude = Flag{"exclude-current-positions-from-observation", true}

// joints are positions, without the first n where they are excluded, and velocities within ±limit; 0: as they are.
func joints(n int, limit float64) func(t Task, s State) []*graph.Array {
	return func(t Task, s State) []*graph.Array {
		q, v := s.Data.Q, s.Data.V
		if t.on(exclude.Name) {
			q = cut(q, n, q.Dim(0))
		}
		if limit > 0 {
			v = graph.Clamp(graph.Scalar(-limit), v, graph.Scalar(limit))
		}
		return []*graph.Array{q, v}
	}
}

// jointsWidth is the length of joints.
func jointsWidth(n int) func(t Task) int {
	return func(t Task) int {
		nq, nv, _ := t.Model().Sizes()
		if t.on(exclude.Name) {
			nq -= n
		}
		return nq + nv
	}
}

// forward is the speed along x, by its weight: how far the first joint went in the step.
func (x Transition) forward() *graph.Array {
	return x.After.Frames.Travel.Index(0).Div(x.Seconds).Mul(x.Params.ForwardRewardWeight)
}

// effort is the cost of the controls.
func (x Transition) effort() *graph.Array {
	return x.Action.Square().Sum().Mul(x.Params.CtrlCostWeight)
}

// alive is the reward of a healthy state, and whether an unhealthy one ends the episode.
func (x Transition) alive(healthy *graph.Array) (reward, terminated *graph.Array) {
	p := x.Params
	return graph.Select(healthy, p.HealthyReward, graph.Scalar(0)), healthy.Not().And(p.TerminateWhenUnhealthy.Gt(0))
}

// between says whether low < x < high, for all elements.
func between(low, x, high *graph.Array) *graph.Array { return low.Lt(x).And(x.Lt(high)).All() }

// moved is the speed along x from one place to another in the step.
func (x Transition) moved(to, from *graph.Array) *graph.Array {
	return to.Index(0).Sub(from.Index(0)).Div(x.Seconds)
}

// place is where a body is.
func (t Task) place(s State, body string) *graph.Array {
	n, err := t.Model().Body(body)
	if err != nil {
		panic(err)
	}
	return s.Frames.Pos.Index(n)
}

// way leads from a body to another.
func (t Task) way(s State, from, to string) *graph.Array { return t.place(s, to).Sub(t.place(s, from)) }

func length(v *graph.Array) *graph.Array { return v.Square().Sum().Sqrt() }

// seen is rows of all bodies but the world, if a flag is set.
func (t Task) seen(flag string, rows *graph.Array) []*graph.Array {
	if !t.on(flag) {
		return nil
	}
	n := rows.Dim(0)
	return []*graph.Array{cut(rows, 1, n).Reshape((n - 1) * rows.Dim(1))}
}

// seenWidth is the length of seen, with so many numbers for a body.
func (t Task) seenWidth(flag string, numbers int) int {
	if !t.on(flag) {
		return 0
	}
	return (len(t.Model().Bodies) - 1) * numbers
}

// cut is the elements from one to before another.
func cut(x *graph.Array, from, to int) *graph.Array { return graph.SliceAxis(x, 0, from, to) }
