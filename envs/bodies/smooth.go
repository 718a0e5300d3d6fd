package bodies

import (
	"math"

	"xlarun/graph/scalars"
)

// dynamics is a model with its numbers: what the equations below read. Everything is computed in MuJoCo's order
// ("Computation" in its documentation), with positions from the origin of a tree, where the body below the world is
// before it turns. So a planar model, and a large distance from the world's origin, cost nothing.
type dynamics struct {
	*Model
	values
	engine     int
	dofs       []dof
	q, v       []int  // where a joint's position and velocity begin
	last       []int  // a body's last degree of freedom, its own or an ancestor's; -1: none
	end        []int  // the body behind a body's last descendant
	planar     []bool // bodies that move in the plane of x and z only
	bodyWeight []num  // inverse weights; see constants.go
	dofWeight  []num
}

// dof is a degree of freedom, and the one above it; -1: none.
type dof struct{ joint, body, above int }

func (m *Model) dynamics(v values, engine int) *dynamics {
	s := &dynamics{Model: m, values: v, engine: engine, last: make([]int, len(m.Bodies)), end: make([]int,
		len(m.Bodies)),
		planar: make([]bool, len(m.Bodies))}
	s.last[0] = -1
	q, j := 0, 0
	for b := 1; b < len(m.Bodies); b++ {
		s.last[b] = s.last[m.Bodies[b].Parent]
		for ; j < len(m.Joints) && m.Joints[j].Body == b; j++ {
			s.q, s.v = append(s.q, q), append(s.v, len(s.dofs))
			n := 1
			if q++; m.Joints[j].Type == Free {
				n, q = 6, q+6
			}
			for range n {
				s.dofs = append(s.dofs, dof{j, b, s.last[b]})
				s.last[b] = len(s.dofs) - 1
			}
		}
	}
	for b := len(m.Bodies) - 1; b >= 0; b-- {
		s.end[b] = max(s.end[b], b+1)
		if p := m.Bodies[b].Parent; b > 0 {
			s.end[p] = max(s.end[p], s.end[b])
		}
	}
	rest := s.kinematics(knowns(s.Rest()))
	s.findPlanar(rest)
	s.constants(rest)
	return s
}

// above calls f with a degree of freedom and those above it.
func (s *dynamics) above(d int, f func(i int)) {
	for ; d >= 0; d = s.dofs[d].above {
		f(d)
	}
}

// frames is what follows from a configuration.
type frames struct {
	origin []vec    // of the body's tree, in the world
	pos    []vec    // of the body, from that origin
	rot    []mat    // columns are the body's axes
	com    []vec    // centre of mass, from that origin
	axes   []motion // of degrees of freedom
	fixed  []bool   // those whose axis moves with the origin
	in     []inertia
}

// kinematics is mj_kinematics, mj_comPos: joints turn and move bodies in their order, parents first.
func (s *dynamics) kinematics(q []num) *frames {
	n := len(s.Bodies)
	f := &frames{origin: make([]vec, n), pos: make([]vec, n), rot: make([]mat, n), com: make([]vec, n),
		in:   make([]inertia, n),
		axes: make([]motion, len(s.dofs)), fixed: make([]bool, len(s.dofs))}
	unit := func(i int) (e vec) {
		e[i] = k(1)
		return e
	}
	f.rot[0] = mat{unit(0), unit(1), unit(2)}
	j := 0
	for b := 1; b < n; b++ {
		body := s.Bodies[b]
		p := body.Parent
		rot, pos := f.rot[p].mul(oriented(body.Quat)), f.pos[p].add(f.rot[p].times(at3(s.pos, b)))
		origin, turned := f.origin[p], p != 0
		if p == 0 {
			origin, pos = pos, vec{}
		}
		for ; j < len(s.Joints) && s.Joints[j].Body == b; j++ {
			at, d := s.q[j], s.v[j]
			joint := s.Joints[j]
			axis := rot.times(known(joint.Axis))
			switch joint.Type {
			case Free:
				origin = vec{q[at], q[at+1], q[at+2]}
				rot = quaternion{q[at+3], q[at+4], q[at+5], q[at+6]}.normalized().rotation()
				for i := range 3 {
					f.axes[d+i], f.fixed[d+i] = motion{lin: unit(i)}, true
					f.axes[d+3+i] = motion{ang: rot[i]}
				}
				turned = true
			case Slide:
				move := axis.scale(sub(q[at], k(joint.Ref)))
				f.axes[d], f.fixed[d] = motion{lin: axis}, !turned
				if turned {
					pos = pos.add(move)
				} else {
					origin = origin.add(move)
				}
			case Hinge:
				angle := sub(q[at], k(joint.Ref))
				anchor := pos.add(rot.times(at3(s.anchor, j)))
				f.axes[d] = motion{axis, anchor.cross(axis)}
				rot = rot.mul(turn(known(joint.Axis), scalars.Sin(angle), scalars.Cos(angle)))
				pos = anchor.sub(rot.times(at3(s.anchor, j)))
				turned = true
			}
		}
		f.origin[b], f.pos[b], f.rot[b] = origin, pos, rot
		f.com[b] = pos.add(rot.times(at3(s.com, b)))
		f.in[b] = s.inertiaOf(b, f.com[b], rot.mul(oriented(body.ComQuat)))
	}
	return f
}

// inertia is of a body or of several at the origin: mass, mass times centre, and the tensor xx yy zz xy xz yz.
type inertia struct {
	mass   num
	moment vec
	tensor [6]num
}

var tensorIndex = [6][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}

func (s *dynamics) inertiaOf(b int, com vec, axes mat) inertia {
	mass, about := s.mass[b], s.inertia[3*b:3*b+3]
	in := inertia{mass: mass, moment: com.scale(mass), tensor: axes.diagonal(about)}
	square := com.dot(com)
	for n, ij := range tensorIndex {
		x := neg(mul(com[ij[0]], com[ij[1]]))
		if n < 3 {
			x = add(x, square)
		}
		in.tensor[n] = add(in.tensor[n], mul(mass, x))
	}
	return in
}

// diagonal is the tensor R diag(d) R'. Two equal numbers, as of a capsule, need one column of R.
func (m mat) diagonal(d []num) (t [6]num) {
	columns, common := []int{0, 1, 2}, num{}
	for i, j := range []int{1, 2, 0} {
		x, known := d[i].Value()
		y, also := d[j].Value()
		if known && also && math.Abs(x-y) <= 1e-13*x {
			columns, common = []int{3 - i - j}, d[i]
			break
		}
	}
	for n, ij := range tensorIndex {
		if n < 3 {
			t[n] = common
		}
		for _, c := range columns {
			t[n] = add(t[n], mul(sub(d[c], common), mul(m[c][ij[0]], m[c][ij[1]])))
		}
	}
	return t
}

func (a inertia) add(b inertia) inertia {
	a.mass, a.moment = add(a.mass, b.mass), a.moment.add(b.moment)
	for i := range a.tensor {
		a.tensor[i] = add(a.tensor[i], b.tensor[i])
	}
	return a
}

// times is the momentum of a motion.
func (a inertia) times(v motion) motion {
	t := a.tensor
	turned := vec{vec{t[0], t[3], t[4]}.dot(v.ang), vec{t[3], t[1], t[5]}.dot(v.ang), vec{t[4], t[5], t[2]}.dot(v.ang)}
	return motion{turned.add(a.moment.cross(v.lin)), v.lin.scale(a.mass).sub(a.moment.cross(v.ang))}
}

// composite is the inertia of each body with its descendants (mj_crb).
func (s *dynamics) composite(f *frames) []inertia {
	all := append([]inertia(nil), f.in...)
	for b := len(all) - 1; b > 0; b-- {
		if p := s.Bodies[b].Parent; p > 0 {
			all[p] = all[p].add(all[b])
		}
	}
	return all
}

// massMatrix is the inertia of degrees of freedom, with armature (mj_crb).
func (s *dynamics) massMatrix(f *frames) symmetric {
	all := s.composite(f)
	m := s.newSymmetric()
	for d, x := range s.dofs {
		momentum := all[x.body].times(f.axes[d])
		s.above(d, func(i int) { m[d][i] = f.axes[i].dot(momentum) })
		m[d][d] = add(m[d][d], s.armature[x.joint])
	}
	return m
}

// motions are the velocities of bodies from those of degrees of freedom.
func (s *dynamics) motions(f *frames, x []num) []motion {
	v := make([]motion, len(s.Bodies))
	d := 0
	for b := 1; b < len(v); b++ {
		v[b] = v[s.Bodies[b].Parent]
		for ; d < len(s.dofs) && s.dofs[d].body == b; d++ {
			v[b] = v[b].add(f.axes[d].scale(x[d]))
		}
	}
	return v
}

// project is the forces on degrees of freedom of wrenches on bodies.
func (s *dynamics) project(f *frames, on []motion) []num {
	on = append([]motion(nil), on...)
	out := make([]num, len(s.dofs))
	d := len(out) - 1
	for b := len(on) - 1; b > 0; b-- {
		for ; d >= 0 && s.dofs[d].body == b; d-- {
			out[d] = f.axes[d].dot(on[b])
		}
		if p := s.Bodies[b].Parent; p > 0 {
			on[p] = on[p].add(on[b])
		}
	}
	return out
}

// newtonEuler is the force that gravity, Coriolis and centrifugal terms need (mj_rne without accelerations), and v
// are the velocities of bodies.
func (s *dynamics) newtonEuler(f *frames, rate []num) (force []num, v []motion) {
	n := len(s.Bodies)
	v, acc, on := make([]motion, n), make([]motion, n), make([]motion, n)
	acc[0].lin = at3(s.gravity, 0).scale(k(-1))
	d := 0
	for b := 1; b < n; b++ {
		p := s.Bodies[b].Parent
		v[b], acc[b] = v[p], acc[p]
		for d < len(s.dofs) && s.dofs[d].body == b {
			group := 1 // the three rotations of a free joint turn together
			if s.Joints[s.dofs[d].joint].Type == Free && !f.fixed[d] {
				group = 3
			}
			for before := v[b]; group > 0; group, d = group-1, d+1 {
				own := f.axes[d].scale(rate[d])
				v[b] = v[b].add(own)
				if !f.fixed[d] {
					acc[b] = acc[b].add(crossMotion(before, own))
				}
			}
		}
		on[b] = f.in[b].times(acc[b]).add(crossForce(v[b], f.in[b].times(v[b])))
	}
	return s.project(f, on), v
}

// smooth is the force on degrees of freedom without constraints, actuator that of actuators (mj_passive,
// mj_fwdActuation, mj_rne), and v are the velocities of bodies.
func (s *dynamics) smooth(f *frames, q, rate, control []num) (force, actuator []num, v []motion) {
	bias, v := s.newtonEuler(f, rate)
	force, actuator = make([]num, len(s.dofs)), s.actuation(q, rate, control)
	for d, x := range s.dofs {
		force[d] = sub(sub(actuator[d], mul(s.damping[x.joint], rate[d])), bias[d])
		if joint := s.Joints[x.joint]; joint.Type != Free {
			force[d] = sub(force[d], mul(s.stiffness[x.joint], sub(q[s.q[x.joint]], k(joint.SpringRef))))
		}
	}
	if !s.medium[0].Is(0) || !s.medium[1].Is(0) {
		force = along(force, k(1), s.project(f, s.fluid(f, v)))
	}
	return force, actuator, v
}

// actuation is mj_transmission, mj_fwdActuation.
func (s *dynamics) actuation(q, rate, control []num) []num {
	out := make([]num, len(s.dofs))
	for i, a := range s.Actuators {
		u, d, bias := control[i], s.v[a.Joint], at3(s.bias, i)
		if a.ControlLimited {
			u = scalars.Clamp(k(a.ControlRange[0]), u, k(a.ControlRange[1]))
		}
		gear := s.gear[i]
		force := sum(mul(s.gain[i], u), bias[0], mul(bias[1], mul(gear, q[s.q[a.Joint]])), mul(bias[2], mul(gear,
			rate[d])))
		if a.ForceLimited {
			force = scalars.Clamp(k(a.ForceRange[0]), force, k(a.ForceRange[1]))
		}
		out[d] = add(out[d], mul(gear, force))
	}
	return out
}

// symmetric is a symmetric matrix of degrees of freedom: row d has the columns 0 … d. What is zero in the tree is a
// known zero.
type symmetric [][]num

func (s *dynamics) newSymmetric() symmetric {
	m := make(symmetric, len(s.dofs))
	for d := range m {
		m[d] = make([]num, d+1)
	}
	return m
}

func (m symmetric) clone() symmetric {
	out := make(symmetric, len(m))
	for d := range m {
		out[d] = append([]num(nil), m[d]...)
	}
	return out
}

func (m symmetric) times(x []num) []num {
	out := make([]num, len(m))
	for d := range m {
		row := make([]num, len(m))
		for i := range row {
			row[i] = m[max(d, i)][min(d, i)]
		}
		out[d] = dot(row, x)
	}
	return out
}

// factor is the decomposition L' D L from the leaves to the root, which has no more entries than the tree (mj_factorI).
type factor struct {
	lower   symmetric
	inverse []num // of the diagonal
}

func (m symmetric) factor() factor {
	h, inverse := m.clone(), make([]num, len(m))
	for d := len(h) - 1; d >= 0; d-- {
		inverse[d] = div(k(1), h[d][d])
		for i := range d {
			x := mul(h[d][i], inverse[d])
			if x.Is(0) {
				continue
			}
			for j := range i + 1 {
				h[i][j] = sub(h[i][j], mul(x, h[d][j]))
			}
		}
		for i := range d {
			h[d][i] = mul(h[d][i], inverse[d])
		}
	}
	return factor{h, inverse}
}

// solve is mj_solveLD.
func (l factor) solve(x []num) []num {
	x = append([]num(nil), x...)
	for d := len(x) - 1; d >= 0; d-- {
		for i := range d {
			x[i] = sub(x[i], mul(l.lower[d][i], x[d]))
		}
	}
	for d := range x {
		x[d] = sub(mul(x[d], l.inverse[d]), dot(l.lower[d][:d], x[:d]))
	}
	return x
}
