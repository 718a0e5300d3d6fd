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
	var rows [][]float64
	step := s.euler
	h := s.Timestep
	zero := make([]num, nv)
	carry := slices.Concat(x.q, x.v, x.warm, zero)
	if s.Integrator == RK4 {
		step = s.stage
		for range skip {
			rows = append(rows, []float64{1. / 6, h / 2, 0}, []float64{1. / 3, h / 2, 0}, []float64{1. / 3, h, 0},
				[]float64{1. / 6, h, 1})
		}
		carry = slices.Concat(carry, x.q, x.v, x.v, zero, zero)
	} else {
		for range skip {
			rows = append(rows, []float64{h})
		}
	}
	carry, last := scalars.Scan(rows, carry, func(c, row []num) (next, last []num) { return step(c, row, control) })
	end = state{cut(&carry, nq), cut(&carry, nv), cut(&carry, nv)}
	travel = cut(&carry, nv)
	return end, state{last[:nq], last[nq:], end.warm}, travel
}

// cut takes the first n numbers of a list out of it.
func cut(list *[]num, n int) []num {
	x := (*list)[:n:n]
	*list = (*list)[n:]
	return x
}

// euler is a substep with implicit damping of joints (mj_EulerSkip).
func (s *dynamics) euler(c, row, control []num) (next, last []num) {
	nv := len(s.dofs)
	nq := len(c) - 3*nv
	q, v, warm, travel := cut(&c, nq), cut(&c, nv), cut(&c, nv), c
	p, warm, force := s.forward(state{q, v, warm}, control)
	acc, damped := warm, false
	m := p.mass.clone()
	for d, x := range s.dofs {
		damped = damped || !s.damping[x.joint].Is(0)
		m[d][d] = add(m[d][d], mul(row[0], s.damping[x.joint]))
	}
	if damped {
		acc = m.factor().solve(force)
	}
	after := along(v, row[0], acc)
	return slices.Concat(s.integrate(q, after, row[0]), after, warm, along(travel, row[0], after)), slices.Concat(q, v)
}

// stage is one of the four of a substep (mj_RungeKutta). The carry holds, beside the state at the begin of the
// substep and the way travelled, the state to evaluate, the rate of the displacement from the begin, and sums of both
// over stages.
func (s *dynamics) stage(c, row, control []num) (next, last []num) {
	nv := len(s.dofs)
	nq := (len(c) - 7*nv) / 2
	q0, v0, warm, travel := cut(&c, nq), cut(&c, nv), cut(&c, nv), cut(&c, nv)
	q, v, rate, way, gain := cut(&c, nq), cut(&c, nv), cut(&c, nv), cut(&c, nv), c
	weight, h, end := row[0], row[1], less(k(.5), row[2])
	_, warm, _ = s.forward(state{q, v, warm}, control)
	way, gain = along(way, weight, rate), along(gain, weight, warm)
	rate, acc := each(end, way, rate), each(end, gain, warm)
	place := s.integrate(q0, rate, h)
	speed := along(v0, h, acc)
	zero := make([]num, nv)
	next = slices.Concat(each(end, place, q0), each(end, speed, v0), warm, each(end, along(travel, h, way), travel),
		place, speed, each(end, speed, s.rates(rate, speed, h)), each(end, zero, way), each(end, zero, gain))
	return next, slices.Concat(q, v)
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
		square := u.dot(u)
		c := k(1. / 1209600)
		for _, x := range []float64{1. / 30240, 1. / 720, 1. / 12} {
			c = add(k(x), mul(square, c))
		}
		// The series is exact to 1e-14 up to there.
		c = scalars.When(less(k(.04), square), func() []num {
			half := mul(k(.5), sqrt(square))
			return []num{div(sub(k(1), div(mul(half, scalars.Cos(half)), scalars.Sin(half))), square)}
		}, []num{c})[0]
		turned := w.add(across.scale(k(.5))).add(u.cross(across).scale(c))
		copy(out[d:], turned[:])
	}
	return out
}
