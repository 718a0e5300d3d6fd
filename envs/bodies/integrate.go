package bodies

import (
	"slices"

	"xlarun/graph/scalars"
)

// forward is what follows from a state and a control (mj_forward): the problem, and its solution.
func (s *dynamics) forward(x state, control []num) (p *problem, acc, force []num) {
	f := s.kinematics(x.q)
	smooth, _, velocity := s.smooth(f, x.q, x.v, control)
	p = &problem{s, s.constrain(f, x.q, x.v, velocity), f, s.massMatrix(f), smooth}
	acc, force = p.solve(x.warm)
	return p, acc, force
}

// state is of a member: position, velocity, and the last acceleration, from which the solver starts.
type state struct{ q, v, warm []num }

// substeps plays a control (mj_step): the state then, the state that was evaluated last, with its acceleration, and how
// far joints went. The program holds the evaluation once.
func (s *dynamics) substeps(x state, control []num, skip int) (end, seen state, travel []num) {
	nq, nv := len(x.q), len(x.v)
	step := s.euler
	if s.Integrator == RK4 {
		step = s.rungeKutta
	}
	carry, last := scalars.Scan(make([][]float64, skip), slices.Concat(x.q, x.v, x.warm, make([]num, nv)),
		func(c, _ []num) (next, last []num) {
			x := state{cut(&c, nq), cut(&c, nv), cut(&c, nv)}
			seen, end, way := step(x, control)
			return slices.Concat(end.q, end.v, end.warm, along(c, k(s.Timestep), way)), slices.Concat(seen.q, seen.v)
		})
	end = state{cut(&carry, nq), cut(&carry, nv), cut(&carry, nv)}
	return end, state{last[:nq], last[nq:], end.warm}, carry
}

// cut takes the first n numbers of a list out of it.
func cut(list *[]num, n int) []num {
	x := (*list)[:n:n]
	*list = (*list)[n:]
	return x
}

// euler is a substep with implicit damping of joints (mj_EulerSkip). It returns the state that was evaluated, the next
// state, and the velocity between the two.
func (s *dynamics) euler(x state, control []num) (seen, next state, way []num) {
	h := k(s.Timestep)
	p, warm, force := s.forward(x, control)
	acc, damped := warm, false
	m := p.mass.clone()
	for d, dof := range s.dofs {
		damped = damped || !s.damping[dof.joint].Is(0)
		m[d][d] = add(m[d][d], mul(h, s.damping[dof.joint]))
	}
	if damped {
		acc = m.factor().solve(force)
	}
	v := along(x.v, h, acc)
	return x, state{s.integrate(x.q, v, h), v, warm}, v
}

// rungeKutta is a substep of four stages (mj_RungeKutta). It returns what euler returns. A stage carries the state to
// evaluate, the rate of the displacement since the substep began, and the sums of earlier rates and accelerations.
func (s *dynamics) rungeKutta(x state, control []num) (seen, next state, way []num) {
	nq, nv := len(x.q), len(x.v)
	h := s.Timestep
	rows := [][]float64{{1. / 6, h / 2}, {1. / 3, h / 2}, {1. / 3, h}, {1. / 6, h}}
	zero := make([]num, nv)
	carry, last := scalars.Scan(rows, slices.Concat(x.q, x.v, x.warm, x.v, zero, zero),
		func(c, row []num) (next, last []num) {
			q, v, warm, rate := cut(&c, nq), cut(&c, nv), cut(&c, nv), cut(&c, nv)
			weight, h := row[0], row[1]
			_, acc, _ := s.forward(state{q, v, warm}, control)
			way, gain := along(c[:nv], weight, rate), along(c[nv:], weight, acc)
			speed := along(x.v, h, acc)
			return slices.Concat(s.integrate(x.q, rate, h), speed, acc, s.rates(rate, speed, h), way, gain),
				slices.Concat(q, v)
		})
	way, gain := carry[nq+3*nv:nq+4*nv], carry[nq+4*nv:]
	seen = state{last[:nq], last[nq:], carry[nq+nv : nq+2*nv]}
	return seen, state{s.integrate(x.q, way, k(h)), along(x.v, k(h), gain), seen.warm}, way
}

// integrate moves a position by a velocity for the time h (mj_integratePos).
func (s *dynamics) integrate(q, v []num, h num) []num {
	out := slices.Clone(q)
	for j, joint := range s.Joints {
		at, d := s.q[j], s.v[j]
		n := 1
		if joint.Type == Free {
			n = 3
			turn := vec{v[d+3], v[d+4], v[d+5]}
			speed := sqrt(add(turn.dot(turn), k(1e-30)))
			half := mul(mul(h, k(.5)), speed)
			turn = turn.scale(div(scalars.Sin(half), speed))
			r := quaternion(q[at+3 : at+7]).times(quaternion{scalars.Cos(half), turn[0], turn[1], turn[2]}).normalized()
			copy(out[at+3:], r[:])
		}
		copy(out[at:], along(q[at:at+n], h, v[d:d+n]))
	}
	return out
}

// rates is the rate of the displacement h r where the velocity is v. It is v, but for rotations of engine 4, which the
// inverse derivative of the exponential map turns (Munthe-Kaas): with u = h r and c(t) = (1 - t/2 cot(t/2)) / t^2
//
//	v + u x v / 2 + c(|u|) u x (u x v)
func (s *dynamics) rates(r, v []num, h num) []num {
	out := slices.Clone(v)
	for j, joint := range s.Joints {
		if joint.Type != Free || s.engine == 3 {
			continue
		}
		d := s.v[j] + 3
		u, w := vec(r[d:d+3]).scale(h), vec(v[d:d+3])
		across := u.cross(w)
		square, c := u.dot(u), k(1./1209600)
		for _, x := range []float64{1. / 30240, 1. / 720, 1. / 12} {
			c = add(k(x), mul(square, c))
		}
		// The series is within 6e-14 up to there. The ops compute both, and derivatives must not be NaN at rest.
		c = scalars.When(less(k(.04), square), func() []num {
			square := scalars.Max(k(.04), square)
			half := mul(k(.5), sqrt(square))
			return []num{div(sub(k(1), div(mul(half, scalars.Cos(half)), scalars.Sin(half))), square)}
		}, []num{c})[0]
		turned := w.add(across.scale(k(.5))).add(u.cross(across).scale(c))
		copy(out[d:], turned[:])
	}
	return out
}
