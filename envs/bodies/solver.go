package bodies

import (
	"slices"

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
	v := p.motions(p.f, x)
	p.parts(func(_, _ int, of func(v []motion, x []num) []num, _ scalars.Cond) { rows = append(rows, of(v, x)...) })
	return append(rows, p.limited(x)...)
}

// limited are the rows of limits.
func (p *problem) limited(x []num) (rows []num) {
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

// parts calls f for each contact and chain: its first row, the number of its rows, what they are of motions of bodies
// and of the degrees of freedom, and where there are any.
func (p *problem) parts(f func(first, n int, rows func(v []motion, x []num) []num, touches scalars.Cond)) {
	first := 0
	for _, t := range p.contacts {
		f(first, t.count(), func(v []motion, _ []num) []num { return t.rows(v[t.body]) }, t.touches)
		first += t.count()
	}
	for _, c := range p.chains {
		f(first, 1, func(_ []motion, x []num) []num { return []num{dot(c.row, x)} }, c.touches)
		first++
	}
}

// newton is M + J' D J, with the weights D of the rows that are active, and the rows' forces. Contacts with what does
// not move add to the inertia of their bodies, so the matrix has no more entries than the tree.
func (p *problem) newton(excess []num) (h symmetric, force []num) {
	h = p.mass.clone()
	of, on := make([]stiff, len(p.Bodies)), make([]motion, len(p.Bodies))
	first, d := make([]int, len(p.contacts)+1), len(h)-1
	for i, t := range p.contacts {
		first[i+1] = first[i] + t.count()
	}
	for b := len(of) - 1; b > 0; b-- {
		for i, t := range p.contacts {
			if t.body != b {
				continue
			}
			rows, weight := excess[first[i]:first[i+1]], p.weight[first[i]:first[i+1]]
			x, push := of[b], on[b]
			out := scalars.When(t.touches, func() []num {
				w := active(weight, rows)
				x, push := x.add(t.stiffness(w)), push.add(t.pushes(pushes(w, rows)))
				return slices.Concat(x[:], push.ang[:], push.lin[:])
			}, slices.Concat(x[:], push.ang[:], push.lin[:]))
			of[b], on[b] = stiff(out[:21]), motion{vec(out[21:24]), vec(out[24:])}
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
	force = p.project(p.f, on)
	at := first[len(p.contacts)]
	for group := range slices.Chunk(p.chains, 4) { // so that an entry is a sum of several products
		rows, weight := excess[at:at+len(group)], p.weight[at:at+len(group)]
		touches := scalars.Truth(false)
		for _, c := range group {
			touches = scalars.Or(touches, c.touches)
		}
		out := scalars.When(touches, func() (out []num) {
			w, total := active(weight, rows), force
			for i := range h {
				for j, x := range h[i] {
					for n, c := range group {
						x = add(x, mul(mul(w[n], c.row[i]), c.row[j]))
					}
					out = append(out, x)
				}
			}
			for n, push := range pushes(w, rows) {
				total = along(total, push, group[n].row)
			}
			return append(out, total...)
		}, append(slices.Concat(h...), force...))
		for i := range h {
			h[i] = cut(&out, i+1)
		}
		force = out
		at += len(group)
	}
	w := active(p.weight[at:], excess[at:])
	for i, push := range pushes(w, excess[at:]) {
		l := p.limits[i]
		h[l.dof][l.dof] = add(h[l.dof][l.dof], w[i])
		force[l.dof] = add(force[l.dof], mul(l.sign, push))
	}
	return h, force
}

// mostTurns bounds the Newton steps of a substep. Models here need one or two, seldom six.
const mostTurns = 24

// solve is the acceleration at the optimum, and the force there, which is M a.
func (p *problem) solve(warm []num) (acc, force []num) {
	nv := len(p.dofs)
	if len(p.weight) == 0 {
		return p.mass.factor().solve(p.smooth), p.smooth
	}
	// The carry is a, what M a is beyond the smooth force, and what J a is beyond the reference. The last is not wanted
	// of contacts that do not touch.
	motions := func(x []num) []motion {
		if len(p.contacts) == 0 {
			return nil
		}
		return p.motions(p.f, x)
	}
	minus := k(-1)
	carry := append(append([]num(nil), warm...), along(p.mass.times(warm), minus, p.smooth)...)
	v := motions(warm)
	p.parts(func(first, n int, rows func(v []motion, x []num) []num, touches scalars.Cond) {
		carry = append(carry, scalars.When(touches, func() []num {
			return along(rows(v, warm), minus, p.reference[first:first+n])
		}, knowns(slices.Repeat([]float64{-below}, n)))...)
	})
	ends := len(carry) - 2*nv
	carry = append(carry, along(p.limited(warm), minus, p.reference[ends:])...)
	carry = scalars.Repeat(mostTurns, carry, func(c []num) ([]num, scalars.Cond) {
		a, rest, excess := c[:nv], c[nv:2*nv], c[2*nv:]
		h, force := p.newton(excess)
		step := h.factor().solve(along(force, minus, rest))
		massStep, v := p.mass.times(step), motions(step)
		// The derivatives of the cost along the step, after all of it.
		first, second := add(dot(step, rest), dot(step, massStep)), dot(step, massStep)
		derivatives := func(weight, excess, rows []num) []num {
			first, second := first, second
			full := along(excess, k(1), rows)
			for i, w := range active(weight, full) {
				x := mul(w, rows[i])
				first, second = add(first, mul(x, full[i])), add(second, mul(x, rows[i]))
			}
			return []num{first, second}
		}
		p.parts(func(at, n int, rows func(v []motion, x []num) []num, touches scalars.Cond) {
			out := scalars.When(touches, func() []num {
				return derivatives(p.weight[at:at+n], excess[at:at+n], rows(v, step))
			}, []num{first, second})
			first, second = out[0], out[1]
		})
		limits := p.limited(step)
		out := derivatives(p.weight[ends:], excess[ends:], limits)
		length := sub(k(1), div(out[0], scalars.Max(out[1], k(1e-30))))
		next := append(along(a, length, step), along(rest, length, massStep)...)
		change := k(1)
		moved := func(excess, rows []num) []num {
			out := append(along(excess, length, rows), change)
			for i, x := range excess {
				out[len(excess)] = scalars.Min(out[len(excess)], mul(out[i], x))
			}
			return out
		}
		p.parts(func(at, n int, rows func(v []motion, x []num) []num, touches scalars.Cond) {
			before := excess[at : at+n : at+n]
			out := scalars.When(touches, func() []num { return moved(before, rows(v, step)) }, append(before, change))
			next, change = append(next, out[:n]...), out[n]
		})
		out = moved(excess[ends:], limits)
		n := len(out) - 1
		return append(next, out[:n]...), less(out[n], k(0))
	})
	return carry[:nv], along(p.smooth, k(1), carry[nv:2*nv])
}

// active are the weights of the rows that are active, 0 for others.
func active(weight, excess []num) []num {
	w := make([]num, len(excess))
	for i, x := range excess {
		w[i] = choose(less(x, k(0)), weight[i], k(0))
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
