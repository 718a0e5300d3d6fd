package bodies

import (
	"xlarun/graph/scalars"
)

// problem is MuJoCo's convex problem for the acceleration a ("Constraint model", primal): the least of
//
//	(a - a_s)' M (a - a_s) / 2 + sum over active rows of D (J a - reference)^2 / 2,  M a_s the smooth force
//
// Cones are pyramids or none, so it is quadratic as long as the set of active rows is the same. A Newton step whose set
// of active rows does not change ends at the optimum: the solver's test for the end is exact and has no tolerance.
type problem struct {
	*dynamics
	*constraints
	f      *frames
	mass   symmetric
	smooth []num
}

// jacobian is J x.
func (p *problem) jacobian(x []num) (rows []num) {
	if len(p.contacts) > 0 {
		v := p.motions(p.f, x)
		for _, t := range p.contacts {
			rows = append(rows, t.rows(v[t.body])...)
		}
	}
	for _, c := range p.chains {
		rows = append(rows, dot(c.row, x))
	}
	for _, l := range p.limits {
		rows = append(rows, mul(l.sign, x[l.dof]))
	}
	return rows
}

// wrenches are those of the rows' forces on bodies, but for limits and chains, and the rest of the forces.
func (p *problem) wrenches(force []num) (on []motion, rest []num) {
	on = make([]motion, len(p.Bodies))
	for _, t := range p.contacts {
		n := t.count()
		on[t.body] = on[t.body].add(t.pushes(force[:n]))
		force = force[n:]
	}
	return on, force
}

// forces are J' times the rows' forces.
func (p *problem) forces(force []num) []num {
	on, rest := p.wrenches(force)
	out := p.project(p.f, on)
	for i, c := range p.chains {
		out = along(out, rest[i], c.row)
	}
	for i, l := range p.limits {
		out[l.dof] = add(out[l.dof], mul(l.sign, rest[len(p.chains)+i]))
	}
	return out
}

// count is the number of a contact's rows.
func (t contact) count() int {
	if t.alone {
		return 2*len(t.tangents) + 1
	}
	return 2 * len(t.tangents)
}

// stiff is a symmetric matrix of 6 x 6 at the origin, of motions: the entries on and below the diagonal, by rows.
type stiff [21]num

func (s *stiff) at(i, j int) *num {
	i, j = max(i, j), min(i, j)
	return &s[i*(i+1)/2+j]
}

func (s stiff) add(t stiff) stiff {
	for i := range s {
		s[i] = add(s[i], t[i])
	}
	return s
}

// stiffness is a contact's: sum of w d d' over its rows along d.
func (t contact) stiffness(w []num) (out stiff) {
	frame := append([]vec{t.normal}, t.tangents...)
	of := make([][]num, len(frame))
	for i := range of {
		of[i] = make([]num, len(frame))
	}
	of[0][0] = sum(w...)
	for i := range t.tangents {
		of[0][i+1] = sub(w[2*i], w[2*i+1])
		of[i+1][0] = of[0][i+1]
		of[i+1][i+1] = add(w[2*i], w[2*i+1])
	}
	var push, turn mat // columns: force and torque of a motion along an axis
	for j := range 3 {
		for i, u := range frame {
			var x num
			for l, y := range frame {
				x = add(x, mul(of[i][l], y[j]))
			}
			for k := j; k < 3; k++ {
				push[j][k] = add(push[j][k], mul(u[k], x))
			}
		}
		for k := range j {
			push[j][k] = push[k][j]
		}
	}
	for j := range 3 {
		turn[j] = t.point.cross(push[j])
	}
	for j := range 3 {
		// A rotation about the axis j moves the point by e x p.
		both := t.point.cross(turn.row(j))
		for i := range 3 {
			*out.at(3+i, 3+j), *out.at(i, 3+j), *out.at(i, j) = push[j][i], turn[j][i], both[i]
		}
	}
	return out
}

// hessian is M + J' diag(w) J. Contacts with what does not move add to the inertia of their bodies, so it has no more
// entries than the tree.
func (p *problem) hessian(w []num) symmetric {
	h := p.mass.clone()
	of, first := make([]stiff, len(p.Bodies)), make([]int, len(p.contacts)+1)
	for i, t := range p.contacts {
		first[i+1] = first[i] + t.count()
	}
	d := len(h) - 1
	for b := len(of) - 1; b > 0; b-- {
		for i, t := range p.contacts {
			if t.body != b {
				continue
			}
			own, before := w[first[i]:first[i+1]], of[b]
			of[b] = stiff(scalars.When(less(k(0), sum(own...)), func() []num {
				x := before.add(t.stiffness(own))
				return x[:]
			}, before[:]))
		}
		for ; d >= 0 && p.dofs[d].body == b; d-- {
			axis := append(p.f.axes[d].ang[:], p.f.axes[d].lin[:]...)
			var force [6]num
			for i := range force {
				for j := range axis {
					force[i] = add(force[i], mul(*of[b].at(i, j), axis[j]))
				}
			}
			on := motion{vec(force[:3]), vec(force[3:])}
			p.above(d, func(i int) { h[d][i] = add(h[d][i], p.f.axes[i].dot(on)) })
		}
		if above := p.Bodies[b].Parent; above > 0 {
			of[above] = of[above].add(of[b])
		}
	}
	w = w[first[len(p.contacts)]:]
	for n, c := range p.chains {
		var flat []num
		for _, row := range h {
			flat = append(flat, row...)
		}
		flat = scalars.When(less(k(0), w[n]), func() (out []num) {
			for i := range c.row {
				x := mul(w[n], c.row[i])
				for j := range i + 1 {
					out = append(out, add(h[i][j], mul(x, c.row[j])))
				}
			}
			return out
		}, flat)
		for i := range h {
			h[i], flat = flat[:i+1], flat[i+1:]
		}
	}
	for n, l := range p.limits {
		h[l.dof][l.dof] = add(h[l.dof][l.dof], w[len(p.chains)+n])
	}
	return h
}

// mostTurns bounds the Newton steps of a substep. Models here need one or two, seldom six.
const mostTurns = 24

// solve is the acceleration at the optimum, and the force there, which is M a.
func (p *problem) solve(warm []num) (acc, force []num) {
	nv := len(p.dofs)
	if len(p.weight) == 0 {
		return p.mass.factor().solve(p.smooth), p.smooth
	}
	// The carry is a, what M a is beyond the smooth force, and what J a is beyond the reference.
	minus := k(-1)
	carry := append(append([]num(nil), warm...), along(p.mass.times(warm), minus, p.smooth)...)
	carry = append(carry, along(p.jacobian(warm), minus, p.reference)...)
	carry = scalars.Repeat(mostTurns, carry, func(c []num) ([]num, scalars.Cond) {
		a, rest, excess := c[:nv], c[nv:2*nv], c[2*nv:]
		w := p.active(excess)
		step := p.hessian(w).factor().solve(along(p.forces(pushes(w, excess)), minus, rest))
		massStep, rowStep := p.mass.times(step), p.jacobian(step)
		// The derivatives of the cost along the step, after all of it.
		full := along(excess, k(1), rowStep)
		first, second := add(dot(step, rest), dot(step, massStep)), dot(step, massStep)
		for i, weight := range p.active(full) {
			x := mul(weight, rowStep[i])
			first, second = add(first, mul(x, full[i])), add(second, mul(x, rowStep[i]))
		}
		length := sub(k(1), div(first, scalars.Max(second, k(1e-30))))
		next := append(along(a, length, step), along(rest, length, massStep)...)
		next = append(next, along(excess, length, rowStep)...)
		change := k(1)
		for i, x := range next[2*nv:] {
			change = scalars.Min(change, mul(x, excess[i]))
		}
		return next, less(change, k(0))
	})
	return carry[:nv], along(p.smooth, k(1), carry[nv:2*nv])
}

// active are the weights of the rows that are active, 0 for others.
func (p *problem) active(excess []num) []num {
	w := make([]num, len(excess))
	for i, x := range excess {
		w[i] = choose(less(x, k(0)), p.weight[i], k(0))
	}
	return w
}

// pushes are the forces of rows.
func pushes(w, excess []num) []num {
	out := make([]num, len(w))
	for i := range w {
		out[i] = neg(mul(w[i], excess[i]))
	}
	return out
}
