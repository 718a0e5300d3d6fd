package bodies

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/scalars"
)

// Lanes is the number of members that a step computes together on CPUs. A register of a tape holds 64 or 128 float32.
const Lanes = 128

// Data is the state of a member: position [nq], velocity [nv], and the acceleration [nv] that the solver starts from,
// which is zero at first. All are of one float type. The optimum does not depend on where the solver starts; its last
// bits do.
type Data struct{ Q, V, Warm *graph.Array }

// Part is what Frames holds.
type Part uint

// The parts of Frames.
const (
	Places     Part = 1 << iota // Pos, Com, Rot
	Momenta                     // Inertia, Velocity
	Contacts                    // Force
	JointForce                  // Constraint, Actuator
)

// Frames is what MuJoCo's mjData holds after mj_step and mj_rnePostConstraint. As there it belongs to the state that
// was evaluated last: before the last substep by Euler, and the fourth stage of it by RK4. Parts that were not asked
// for are nil. Travel [nv] is how far joints went in this step: exact where the position is large.
type Frames struct {
	Pos, Com, Rot        *graph.Array `tree:"optional"` // xpos [n, 3], xipos [n, 3], xmat [n, 3, 3], of bodies
	Inertia, Velocity    *graph.Array `tree:"optional"` // cinert [n, 10], cvel [n, 6] about the tree's centre of mass
	Force                *graph.Array `tree:"optional"` // cfrc_ext [n, 6] about the same point: torque and force
	Constraint, Actuator *graph.Array `tree:"optional"` // qfrc_constraint, qfrc_actuator [nv]
	Travel               *graph.Array
}

func (f *Frames) fields() []**graph.Array {
	return []**graph.Array{&f.Pos, &f.Com, &f.Rot, &f.Inertia, &f.Velocity, &f.Force, &f.Constraint, &f.Actuator}
}

// parts says to which part each field of Frames belongs, and what a body has of it; none: of joints.
var parts = []struct {
	part  Part
	shape []int
}{{Places, []int{3}}, {Places, []int{3}}, {Places, []int{3, 3}}, {Momenta, []int{10}}, {Momenta, []int{6}},
	{Contacts, []int{6}}, {JointForce, nil}, {JointForce, nil}}

// Options are how a step is computed.
type Options struct {
	Engine int  // whose rules: 4 (MuJoCo 4; also if 0) or 3 (margins of pairs, Runge-Kutta steps of rotations)
	Skip   int  // substeps; 0: 1
	Frames Part // what is computed beside the state
	Ops    bool // by graph's ops, which have derivatives, on CPUs too, where there would be a tape
	Plain  bool // in float64 by this process, without a program: arrays have data
	// Only says which members' results are read, bool[]; nil: all. On CPUs others cost nothing.
	Only *graph.Array
}

// Step plays a control [nu] for some substeps. Model.Check says what is not computed.
func (m *Model) Step(d Data, control *graph.Array, p Params, o Options) (Data, Frames) {
	return m.call("bodies.Step", m.record, d, control, p, o)
}

// Forward is what Step's Frames hold, of a state before a step (mj_forward): what environments observe after a reset.
func (m *Model) Forward(d Data, control *graph.Array, p Params, o Options) Frames {
	_, f := m.call("bodies.Forward", m.recordForward, d, control, p, o)
	return f
}

// call runs a function of scalars on arrays.
func (m *Model) call(op string, record func(x state, control []num, numbers [][]num, o Options) [][]num, d Data,
	control *graph.Array, p Params, o Options) (Data, Frames) {
	if err := m.Check(); err != nil {
		graph.Throw(op, "%v", err)
	}
	if o.Engine != 0 && o.Engine != 3 && o.Engine != 4 {
		graph.Throw(op, "engine %d: want 3 or 4", o.Engine)
	}
	nq, nv, nu := m.Sizes()
	in, widths := []*graph.Array{d.Q, d.V, d.Warm, control}, []int{nq, nv, nv, nu}
	own := m.values()
	var given []int
	for i, field := range p.fields() {
		if *field != nil {
			given = append(given, i)
			in = append(in, graph.Convert((*field).Reshape((*field).Size()), d.Q.DType()))
			widths = append(widths, len(*own.fields()[i]))
		}
	}
	step := func(in [][]num) [][]num {
		numbers := make([][]num, len(own.fields()))
		for n, i := range given {
			numbers[i] = in[4+n]
		}
		return record(state{in[0], in[1], in[2]}, in[3], numbers, o)
	}
	var out []*graph.Array
	switch {
	case o.Plain:
		out = plain(op, step, in)
	case o.Ops:
		out = scalars.Record(widths, step).Ops(in...)
	default:
		out = scalars.Record(widths, step).CallOnly(o.Only, in...)
	}
	f := Frames{Travel: out[3]}
	next := Data{out[0], out[1], out[2]}
	out = out[4:]
	for i, field := range f.fields() {
		if o.Frames&parts[i].part == 0 {
			continue
		}
		*field, out = out[0], out[1:]
		if shape := parts[i].shape; shape != nil {
			*field = (*field).Reshape(append([]int{len(m.Bodies)}, shape...)...)
		}
	}
	return next, f
}

// plain computes with the values of arrays, which have data.
func plain(op string, step func(in [][]num) [][]num, in []*graph.Array) (out []*graph.Array) {
	known := make([][]num, len(in))
	for i, x := range in {
		values, err := graph.Floats(x)
		if err != nil {
			graph.Throw(op, "%v", err)
		}
		known[i] = knowns(values)
	}
	for _, list := range step(known) {
		values := make([]float64, len(list))
		for i, x := range list {
			values[i] = value(x)
		}
		out = append(out, graph.Float64s(values, len(values)).Convert(in[0].DType()))
	}
	return out
}

// record is a step of scalars: the next state, travel, and the parts of frames that are wanted.
func (m *Model) record(x state, control []num, numbers [][]num, o Options) [][]num {
	s := m.with(numbers, o)
	end, seen, travel := s.substeps(x, control, max(o.Skip, 1))
	return append([][]num{end.q, end.v, end.warm, travel}, s.seen(seen, control, o)...)
}

// recordForward is an evaluation of scalars, in the form of record. The state is that before, so that what no part of
// the frames needs, such as the solver, is not computed.
func (m *Model) recordForward(x state, control []num, numbers [][]num, o Options) [][]num {
	s := m.with(numbers, o)
	_, acc, _ := s.forward(x, control)
	return append([][]num{x.q, x.v, x.warm, make([]num, len(x.v))}, s.seen(state{x.q, x.v, acc}, control, o)...)
}

// with is the dynamics with some numbers replaced.
func (m *Model) with(numbers [][]num, o Options) *dynamics {
	v := m.values()
	v.override(numbers)
	return m.dynamics(v, o.Engine)
}

// seen is the parts of frames that are wanted.
func (s *dynamics) seen(x state, control []num, o Options) (out [][]num) {
	if o.Frames == 0 {
		return nil
	}
	frames := s.outputs(x, control)
	for i, list := range frames.fields() {
		if o.Frames&parts[i].part != 0 {
			out = append(out, *list)
		}
	}
	return out
}

// Body is the number of a body by its name.
func (m *Model) Body(name string) (int, error) {
	for i, b := range m.Bodies {
		if b.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the model has no body %q", name)
}
