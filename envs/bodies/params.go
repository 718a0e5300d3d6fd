package bodies

import (
	"xlarun/graph"
)

// Params are numbers of a model that are inputs of the program, and differ from member to member under VMap. What is
// nil has the model's own numbers, and so has every number that is zero in the model. Shapes are those of
// [Model.Params].
//
// A body's inverse weights, which scale its contacts and limits, follow from the numbers here as MuJoCo computes them
// at qpos0. Nothing else follows: who makes a geom longer moves the bodies at its end and changes masses and
// inertias.
type Params struct {
	Mass, Inertia, Com, Pos              *graph.Array // of bodies: [n], [n, 3], [n, 3], [n, 3]
	Anchor, Stiffness, Damping, Armature *graph.Array // of joints: [n, 3], [n], [n], [n]; Anchor is a joint's pos
	GeomPos, Size, Friction              *graph.Array // of geoms: [n, 3], [n, 3], [n], of sliding friction only
	Gear, Gain, Bias                     *graph.Array // of actuators: [n], [n], [n, 3]
	Gravity, Medium                      *graph.Array // [3]; density and viscosity [2]
}

func (p *Params) fields() []**graph.Array {
	return []**graph.Array{&p.Mass, &p.Inertia, &p.Com, &p.Pos, &p.Anchor, &p.Stiffness, &p.Damping, &p.Armature,
		&p.GeomPos, &p.Size, &p.Friction, &p.Gear, &p.Gain, &p.Bias, &p.Gravity, &p.Medium}
}

// Params is the model's own numbers, as a start for others. Give Step only the fields that change.
func (m *Model) Params() (p Params) {
	v := m.values()
	for i, field := range p.fields() {
		list := *v.fields()[i]
		data := make([]float32, len(list))
		for j, x := range list {
			c, _ := x.Value()
			data[j] = float32(c)
		}
		*field = graph.Float32s(data, len(data))
		if field == &p.Inertia || field == &p.Com || field == &p.Pos || field == &p.Anchor || field == &p.GeomPos ||
			field == &p.Size || field == &p.Bias {
			*field = (*field).Reshape(len(data)/3, 3)
		}
	}
	return p
}

// values are a model's numbers as scalars, in the order of Params.
type values struct {
	mass, inertia, com, pos              []num
	anchor, stiffness, damping, armature []num
	geomPos, size, friction              []num
	gear, gain, bias                     []num
	gravity, medium                      []num
}

func (v *values) fields() []*[]num {
	return []*[]num{&v.mass, &v.inertia, &v.com, &v.pos, &v.anchor, &v.stiffness, &v.damping, &v.armature,
		&v.geomPos, &v.size, &v.friction, &v.gear, &v.gain, &v.bias, &v.gravity, &v.medium}
}

// values are the model's own numbers.
func (m *Model) values() (v values) {
	to := func(list *[]num, xs ...float64) {
		for _, x := range xs {
			*list = append(*list, k(x))
		}
	}
	place := func(list *[]num, x [3]float64) {
		p := known(x)
		*list = append(*list, p[:]...)
	}
	for _, b := range m.Bodies {
		to(&v.mass, b.Mass)
		to(&v.inertia, b.Inertia[:]...)
		place(&v.com, b.Com)
		place(&v.pos, b.Pos)
	}
	for _, j := range m.Joints {
		place(&v.anchor, j.Pos)
		to(&v.stiffness, j.Stiffness)
		to(&v.damping, j.Damping)
		to(&v.armature, j.Armature)
	}
	for _, g := range m.Geoms {
		place(&v.geomPos, g.Pos)
		to(&v.size, g.Size[:]...)
		to(&v.friction, g.Friction[0])
	}
	for _, a := range m.Actuators {
		to(&v.gear, a.Gear)
		to(&v.gain, a.Gain)
		to(&v.bias, a.Bias[:]...)
	}
	to(&v.gravity, m.Gravity[:]...)
	to(&v.medium, m.Density, m.Viscosity)
	return v
}

// override replaces the model's numbers by given ones, field by field, where the model's are not zero.
func (v *values) override(given [][]num) {
	for i, list := range v.fields() {
		for j, x := range given[i] {
			if !(*list)[j].Is(0) {
				(*list)[j] = x
			}
		}
	}
}

func at3(list []num, i int) vec { return vec{list[3*i], list[3*i+1], list[3*i+2]} }
