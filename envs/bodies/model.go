package bodies

import (
	"fmt"
	"math"
	"slices"
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
	c := &checker{}
	c.want(len(m.Bodies) > 1, "body", "", "there is none: want at least one")
	c.want(m.Integrator == Euler || m.Integrator == RK4, "option", "", "integrator %q: want Euler or RK4", m.Integrator)
	c.want(m.Timestep > 0, "option", "", "timestep %v: want more than 0", m.Timestep)
	c.want(m.Impratio == 1, "option", "", "impratio %v: want 1", m.Impratio)
	_, nv, _ := m.Sizes()
	c.want(nv > 0, "joint", "", "there is none: want at least one")
	if c.err != nil {
		return c.err
	}
	moves := make([]bool, len(m.Bodies))
	at := 0
	for b, body := range m.Bodies {
		c.want(b == 0 || 0 <= body.Parent && body.Parent < b, "body", body.Name, "parent %d: want one of the "+
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
			c.want(p == body.Parent, "body", body.Name, "its parent's descendants do not follow one another")
			moves[b] = moves[body.Parent]
		}
		c.want(body.Mass >= 0, "body", body.Name, "mass %v: want at least 0", body.Mass)
		c.want(slices.Min(body.Inertia[:]) >= 0, "body", body.Name, "inertia %v: want at least 0", body.Inertia)
		first := at
		for ; at < len(m.Joints) && m.Joints[at].Body == b; at++ {
			moves[b] = true
			j := m.Joints[at]
			switch j.Type {
			case Slide, Hinge:
			case Free:
				c.want(body.Parent == 0 && at == first && (at+1 == len(m.Joints) || m.Joints[at+1].Body != b),
					"joint", j.Name,
					"type free: want it alone, on a child of the world")
				c.want(j.Stiffness == 0, "joint", j.Name, "stiffness %v of a free joint: want 0", j.Stiffness)
				c.want(!j.Limited, "joint", j.Name, "a free joint has no limits")
			default:
				c.want(false, "joint", j.Name, "type %q: want free, slide or hinge", j.Type)
			}
			if j.Limited {
				c.want(j.Range[1]-j.Range[0] > 2*j.Margin, "joint", j.Name, "range %v: want one wider than two "+
					"margins of %v",
					j.Range, j.Margin)
				c.rule("joint", j.Name, j.Solref, j.Solimp)
			}
		}
	}
	c.want(at == len(m.Joints), "joint", "", "joints are not in the order of their bodies")
	for _, s := range m.Sites {
		c.body(m, "site", s.Name, s.Body)
	}
	for _, g := range m.Geoms {
		c.body(m, "geom", g.Name, g.Body)
	}
	for _, a := range m.Actuators {
		ok := 0 <= a.Joint && a.Joint < len(m.Joints)
		c.want(ok && m.Joints[a.Joint].Type != Free, "actuator", a.Name, "joint %d: want a hinge or a slide", a.Joint)
	}
	if c.err != nil {
		return c.err
	}
	for _, p := range m.Pairs {
		if !slices.ContainsFunc(p.Geoms[:], func(g int) bool { return g < 0 || g >= len(m.Geoms) }) {
			c.pair(m, p, moves)
			continue
		}
		c.want(false, "pair", "", "geoms %v: want two of %d", p.Geoms, len(m.Geoms))
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
			rows += max(1, 2*max(g.Condim, h.Condim)-2)
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
	c.want(ops <= mostOps, "model", "", "a step takes about %.0f million operations, for %d degrees of freedom and %d "+
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
			c.want(level, "geom", m.Geoms[b].Name, "a cylinder that may touch the plane %q: want it to slide "+
				"along the plane "+
				"only, or no contact (contype, conaffinity)", m.Geoms[a].Name)
		})
	}
}

// checker keeps the first thing that is not supported.
type checker struct{ err error }

func (c *checker) want(ok bool, element, name, format string, args ...any) {
	if ok || c.err != nil {
		return
	}
	if name != "" {
		element = fmt.Sprintf("%s %q", element, name)
	}
	c.err = fmt.Errorf("%s: %s", element, fmt.Sprintf(format, args...))
}

func (c *checker) body(m *Model, element, name string, b int) {
	c.want(0 <= b && b < len(m.Bodies), element, name, "body %d: want one of %d", b, len(m.Bodies))
}

func (c *checker) rule(element, name string, ref [2]float64, imp [5]float64) {
	c.want((ref[0] > 0) == (ref[1] > 0), element, name, "solref %v: want two numbers above 0, or two of at most 0", ref)
	c.want(imp[4] >= 1 && imp[4] <= 8 && imp[4] == math.Trunc(imp[4]), element, name,
		"solimp %v: want a power that is one of 1, 2 … 8", imp)
}

var shapes = []GeomType{Plane, Sphere, Capsule, Cylinder}

// touching are the shapes of pairs that are computed, in MuJoCo's order.
var touching = [][2]GeomType{{Plane, Sphere}, {Plane, Capsule}, {Plane, Cylinder}, {Sphere, Sphere}, {Sphere, Capsule},
	{Capsule, Capsule}, {Capsule, Cylinder}}

func (c *checker) pair(m *Model, p Pair, moves []bool) {
	for _, g := range p.Geoms {
		c.want(slices.Contains(shapes, m.Geoms[g].Type), "geom", m.Geoms[g].Name, "type %q of a geom that may "+
			"touch others: "+
			"want one of %v", m.Geoms[g].Type, shapes)
	}
	a, b := m.ordered(p)
	g, h := m.Geoms[a], m.Geoms[b]
	c.want(slices.Contains(touching, [2]GeomType{g.Type, h.Type}), "geom", g.Name, "contact of a %s with the %s "+
		"%q: want "+
		"one of %v", g.Type, h.Type, h.Name, touching)
	c.want(moves[g.Body] || moves[h.Body], "geom", g.Name, "it never moves, nor does %q, which it may touch", h.Name)
	c.want(g.Type != Plane || !moves[g.Body], "geom", g.Name, "a plane that moves: want it on a body without joints")
	dim := max(g.Condim, h.Condim)
	c.want(dim == 1 || dim == 3, "geom", g.Name, "condim %d for contacts with %q: want 1 or 3", dim, h.Name)
	for _, x := range []Geom{g, h} {
		c.rule("geom", x.Name, x.Solref, x.Solimp)
		c.want(x.Solmix > minVal, "geom", x.Name, "solmix %v: want more than 0", x.Solmix)
	}
	c.want(dim == 1 || max(g.Friction[0], h.Friction[0]) > 0, "geom", g.Name, "friction 0 with condim 3: want condim 1")
}

// ordered is a pair's geoms in the order of their shapes.
func (m *Model) ordered(p Pair) (a, b int) {
	a, b = p.Geoms[0], p.Geoms[1]
	if slices.Index(shapes, m.Geoms[a].Type) > slices.Index(shapes, m.Geoms[b].Type) {
		a, b = b, a
	}
	return a, b
}
