package bodies

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Model is a mechanism as MuJoCo compiles it: what is structure, and numbers. A number that is zero is structure too:
// it stays zero, and the program does not compute with it. Other numbers can be inputs of the program (Params).
// Fields that are not said otherwise are attributes of MJCF, in SI units and radians.
type Model struct {
	Bodies    []Body // 0 is the world; a parent is before its children, and a body's descendants follow it
	Joints    []Joint
	Geoms     []Geom
	Sites     []Site
	Actuators []Actuator
	Pairs     []Pair // geoms that may touch

	Timestep           float64
	Integrator         Integrator
	Gravity            [3]float64
	Density, Viscosity float64 // of the medium
	Impratio           float64
}

// Integrator is how a substep is taken: Euler, with implicit damping of joints, or RK4.
type Integrator string

// The integrators.
const (
	Euler Integrator = "Euler"
	RK4   Integrator = "RK4"
)

// Body is a rigid body. Its frame is given in its parent's, its inertial frame in its own.
type Body struct {
	Name    string
	Parent  int
	Pos     [3]float64
	Quat    [4]float64 // w x y z
	Com     [3]float64 // centre of mass
	ComQuat [4]float64 // axes of inertia
	Mass    float64
	Inertia [3]float64 // about these axes
}

// JointType is what a joint lets its body do against the parent.
type JointType string

// The types of joints. A free joint is the only one of a child of the world.
const (
	Free  JointType = "free"
	Slide JointType = "slide"
	Hinge JointType = "hinge"
)

// Joint is a joint of a body. Joints of a body follow one another, in the order of bodies.
type Joint struct {
	Name                 string
	Type                 JointType
	Body                 int
	Pos, Axis            [3]float64 // the axis has length 1
	Ref                  float64    // the position in the model's first configuration (qpos0)
	Stiffness, SpringRef float64
	Damping, Armature    float64
	Limited              bool
	Range                [2]float64
	Margin               float64
	Solref               [2]float64
	Solimp               [5]float64
}

// GeomType is a geom's shape.
type GeomType string

// The shapes. Planes belong to bodies that cannot move. Cylinders touch capsules only, and planes that they slide on.
const (
	Plane    GeomType = "plane"
	Sphere   GeomType = "sphere"
	Capsule  GeomType = "capsule"
	Cylinder GeomType = "cylinder"
)

// Geom is a shape that is fixed to a body.
type Geom struct {
	Name     string
	Type     GeomType
	Body     int
	Pos      [3]float64
	Quat     [4]float64
	Size     [3]float64 // radius, half length
	Friction [3]float64
	Condim   int
	Priority int
	Margin   float64
	Solref   [2]float64
	Solimp   [5]float64
	Solmix   float64
}

// Site is a point of a body.
type Site struct {
	Name string
	Body int
	Pos  [3]float64
}

// Pair is two geoms that may touch. What happens then follows from the geoms.
type Pair struct{ Geoms [2]int }

// Actuator drives a joint, which is no free one, by the force Gain u + Bias[0] + Bias[1] l + Bias[2] l', times Gear.
// l is Gear times the joint's position. Motors have Bias 0; position actuators Gain kp, Bias (0, -kp, -kv); velocity
// actuators Gain kv, Bias (0, 0, -kv).
type Actuator struct {
	Name           string
	Joint          int
	Gear, Gain     float64
	Bias           [3]float64
	ControlLimited bool
	ControlRange   [2]float64
	ForceLimited   bool
	ForceRange     [2]float64
}

// Sizes are the lengths of positions (qpos), of velocities (qvel), and of controls.
func (m *Model) Sizes() (nq, nv, nu int) {
	for _, j := range m.Joints {
		if nq, nv = nq+1, nv+1; j.Type == Free {
			nq, nv = nq+6, nv+5
		}
	}
	return nq, nv, len(m.Actuators)
}

// Rest is the model's first configuration, MuJoCo's qpos0.
func (m *Model) Rest() (q []float64) {
	for _, j := range m.Joints {
		if b := m.Bodies[j.Body]; j.Type == Free {
			q = append(append(q, b.Pos[:]...), b.Quat[:]...)
		} else {
			q = append(q, j.Ref)
		}
	}
	return q
}

// Check says what of the model is not computed here.
func (m *Model) Check() error {
	c := &checker{m: m}
	c.want(len(m.Bodies) > 1, "body", -1, "there is none: want at least one")
	c.want(m.Integrator == Euler || m.Integrator == RK4, "option", -1, "integrator %q: want Euler or RK4", m.Integrator)
	c.want(m.Timestep > 0, "option", -1, "timestep %v: want more than 0", m.Timestep)
	c.want(m.Impratio == 1, "option", -1, "impratio %v: want 1", m.Impratio)
	_, nv, _ := m.Sizes()
	c.want(nv > 0, "joint", -1, "there is none: want at least one")
	if c.err != nil {
		return c.err
	}
	moves := make([]bool, len(m.Bodies))
	at := 0
	for b, body := range m.Bodies {
		c.want(b == 0 || 0 <= body.Parent && body.Parent < b, "body", b, "parent %d: want one of the "+
			"bodies before",
			body.Parent)
		if c.err != nil {
			return c.err
		}
		if b > 0 {
			p := b - 1 // a body follows its parent, or a descendant of it
			for p > body.Parent {
				p = m.Bodies[p].Parent
			}
			c.want(p == body.Parent, "body", b, "its parent's descendants do not follow one another")
			moves[b] = moves[body.Parent]
		}
		c.want(body.Mass >= 0, "body", b, "mass %v: want at least 0", body.Mass)
		c.want(slices.Min(body.Inertia[:]) >= 0, "body", b, "inertia %v: want at least 0", body.Inertia)
		first := at
		for ; at < len(m.Joints) && m.Joints[at].Body == b; at++ {
			moves[b] = true
			j := m.Joints[at]
			switch j.Type {
			case Slide, Hinge:
			case Free:
				c.want(body.Parent == 0 && at == first && (at+1 == len(m.Joints) || m.Joints[at+1].Body != b),
					"joint", at,
					"type free: want it alone, on a child of the world")
				c.want(j.Stiffness == 0, "joint", at, "stiffness %v of a free joint: want 0", j.Stiffness)
				c.want(!j.Limited, "joint", at, "a free joint has no limits")
			default:
				c.want(false, "joint", at, "type %q: want free, slide or hinge", j.Type)
			}
			if j.Limited {
				c.want(j.Range[1]-j.Range[0] > 2*j.Margin, "joint", at, "range %v: want one wider than two "+
					"margins of %v",
					j.Range, j.Margin)
				c.rule("joint", at, j.Solref, j.Solimp)
			}
		}
	}
	c.want(at == len(m.Joints), "joint", -1, "joints are not in the order of their bodies")
	for i, s := range m.Sites {
		c.body("site", i, s.Body)
	}
	for i, g := range m.Geoms {
		c.body("geom", i, g.Body)
	}
	for i, a := range m.Actuators {
		c.want(0 <= a.Joint && a.Joint < len(m.Joints), "actuator", i, "joint %d: want one of %d", a.Joint,
			len(m.Joints))
		if c.err == nil {
			c.want(m.Joints[a.Joint].Type != Free, "actuator", i, "%s is a free one: want a hinge or a slide",
				m.describe("joint", a.Joint))
		}
	}
	if c.err != nil {
		return c.err
	}
	for _, p := range m.Pairs {
		if !slices.ContainsFunc(p.Geoms[:], func(g int) bool { return g < 0 || g >= len(m.Geoms) }) {
			c.pair(m, p, moves)
			continue
		}
		c.want(false, "pair", -1, "geoms %v: want two of %d", p.Geoms, len(m.Geoms))
	}
	if c.err == nil {
		c.size(m, moves)
		c.level(m)
	}
	return c.err
}

// mostOps is how large a step may be: the record of one with so many takes a gigabyte.
const mostOps = 1e7

// size refuses models whose step is too large to record: each row of a contact between geoms that both move couples all
// degrees of freedom in the solver, and the mass matrix those of a branch.
func (c *checker) size(m *Model, moves []bool) {
	_, nv, _ := m.Sizes()
	rows, ops := 0, 0.0
	for _, p := range m.Pairs {
		if g, h := m.Geoms[p.Geoms[0]], m.Geoms[p.Geoms[1]]; moves[g.Body] && moves[h.Body] {
			rows += max(1, 2*condim(g, h)-2)
		}
	}
	depth := make([]int, len(m.Bodies)) // degrees of freedom from the world to a body
	joints := m.Joints
	for b := 1; b < len(m.Bodies); b++ {
		depth[b] = depth[m.Bodies[b].Parent]
		for ; len(joints) > 0 && joints[0].Body == b; joints = joints[1:] {
			n := 1
			if joints[0].Type == Free {
				n = 6
			}
			depth[b] += n
			ops += float64(n*depth[b]*depth[b]) / 2
		}
	}
	ops += float64(rows) * float64(nv*nv) / 2
	c.want(ops <= mostOps, "model", -1, "a step takes about %.0f million operations, for %d degrees of freedom and %d "+
		"rows of contacts between geoms that both move: want at most %.0f million (contype, conaffinity and <exclude> "+
		"leave pairs out)", ops/1e6, nv, rows, mostOps/1e6)
}

// level refuses cylinders that move against a plane that they may touch: that contact is not computed.
func (c *checker) level(m *Model) {
	var s *dynamics
	var f *frames
	for _, p := range m.Pairs {
		a, b := m.ordered(p)
		if m.Geoms[a].Type != Plane || m.Geoms[b].Type != Cylinder {
			continue
		}
		if s == nil {
			s = m.dynamics(m.values(), 4)
			f = s.kinematics(knowns(m.Rest()))
		}
		normal := s.segments(f)[a].axis
		s.above(s.last[m.Geoms[b].Body], func(d int) {
			level := f.axes[d].ang == (vec{}) && f.axes[d].lin.dot(normal).Is(0)
			c.want(level, "geom", b, "a cylinder that may touch %s, a plane: want it to slide along the plane only, "+
				"or no contact (contype, conaffinity)", m.describe("geom", a))
		})
	}
}

// Refusal is the first thing of a model that is not computed.
type Refusal struct {
	Element string // body, joint, geom, site, actuator, pair, option or model
	Number  int    // of the element in the model; -1: of none
	Reason  string
	model   *Model
}

func (r *Refusal) Error() string { return r.model.describe(r.Element, r.Number) + ": " + r.Reason }

// describe is an element by its name, or by its number: that in its body, from 1 on, of a geom, a joint or a site.
func (m *Model) describe(element string, n int) string {
	name, body := "", -1
	switch {
	case n < 0:
		return element
	case element == "body":
		name = m.Bodies[n].Name
	case element == "joint":
		name, body = m.Joints[n].Name, m.Joints[n].Body
		n = placeIn(m.Joints, n, func(j Joint) int { return j.Body })
	case element == "geom":
		name, body = m.Geoms[n].Name, m.Geoms[n].Body
		n = placeIn(m.Geoms, n, func(g Geom) int { return g.Body })
	case element == "site":
		name, body = m.Sites[n].Name, m.Sites[n].Body
		n = placeIn(m.Sites, n, func(s Site) int { return s.Body })
	case element == "actuator":
		name = m.Actuators[n].Name
	}
	switch {
	case name != "":
		return fmt.Sprintf("%s %q", element, name)
	case body >= 0 && body < len(m.Bodies):
		return fmt.Sprintf("%s %d of %s", element, n, m.describe("body", body))
	}
	return fmt.Sprintf("%s %d", element, n)
}

// placeIn is an element's number among those of its body, from 1 on.
func placeIn[T any](all []T, n int, body func(T) int) (at int) {
	for _, x := range all[:n+1] {
		if body(x) == body(all[n]) {
			at++
		}
	}
	return at
}

// checker keeps the first thing that is not supported.
type checker struct {
	m   *Model
	err error
}

func (c *checker) want(ok bool, element string, n int, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = &Refusal{element, n, fmt.Sprintf(format, args...), c.m}
	}
}

func (c *checker) body(element string, n, b int) {
	c.want(0 <= b && b < len(c.m.Bodies), element, n, "body %d: want one of %d", b, len(c.m.Bodies))
}

func (c *checker) rule(element string, n int, ref [2]float64, imp [5]float64) {
	c.want((ref[0] > 0) == (ref[1] > 0), element, n, "solref %v: want two numbers above 0, or two of at most 0", ref)
	c.want(imp[4] >= 1 && imp[4] <= 8 && imp[4] == math.Trunc(imp[4]), element, n,
		"solimp %v: want a power that is one of 1, 2 … 8", imp)
}

var shapes = []GeomType{Plane, Sphere, Capsule, Cylinder}

// touching are the shapes of pairs that are computed, in MuJoCo's order.
var touching = [][2]GeomType{{Plane, Sphere}, {Plane, Capsule}, {Plane, Cylinder}, {Sphere, Sphere}, {Sphere, Capsule},
	{Capsule, Capsule}, {Capsule, Cylinder}}

func (c *checker) pair(m *Model, p Pair, moves []bool) {
	for _, g := range p.Geoms {
		c.want(slices.Contains(shapes, m.Geoms[g].Type), "geom", g, "type %q of a geom that may touch others: want "+
			"plane, sphere, capsule or cylinder", m.Geoms[g].Type)
	}
	a, b := m.ordered(p)
	g, h, other := m.Geoms[a], m.Geoms[b], m.describe("geom", b)
	var computed []string
	for _, two := range touching {
		computed = append(computed, fmt.Sprint(two[0], " with ", two[1]))
	}
	c.want(slices.Contains(touching, [2]GeomType{g.Type, h.Type}), "geom", a, "contact of a %s with %s, a %s: want "+
		"one of %s, or no contact (contype, conaffinity)", g.Type, other, h.Type, strings.Join(computed, ", "))
	c.want(moves[g.Body] || moves[h.Body], "geom", a, "it never moves, nor does %s, which it may touch", other)
	c.want(g.Type != Plane || !moves[g.Body], "geom", a, "a plane that moves: want it on a body without joints")
	dim, of := condim(g, h), a
	if dim != g.Condim || h.Priority > g.Priority {
		of, other = b, m.describe("geom", a)
	}
	c.want(dim == 1 || dim == 3, "geom", of, "condim %d for contacts with %s: want 1 or 3", dim, other)
	for _, i := range []int{a, b} {
		x := m.Geoms[i]
		c.rule("geom", i, x.Solref, x.Solimp)
		c.want(slices.Contains([]int{1, 3, 4, 6}, x.Condim), "geom", i, "condim %d: want 1 or 3", x.Condim)
		c.want(x.Solmix > minVal, "geom", i, "solmix %v: want more than 0", x.Solmix)
	}
	friction := ofContact(g, h, g.Friction[0], h.Friction[0], func(g, h float64) float64 { return max(g, h) })
	c.want(dim == 1 || friction > 0, "geom", of, "friction 0 with condim 3: want condim 1")
}

// ordered is a pair's geoms in the order of their shapes.
func (m *Model) ordered(p Pair) (a, b int) {
	a, b = p.Geoms[0], p.Geoms[1]
	if slices.Index(shapes, m.Geoms[a].Type) > slices.Index(shapes, m.Geoms[b].Type) {
		a, b = b, a
	}
	return a, b
}
