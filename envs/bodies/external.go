package bodies

import "xlarun/graph/scalars"

// outputs are the vectors of Frames.
type outputs struct {
	pos, com, rot            []num
	inertia, velocity, force []num
	constraint, actuator     []num
}

func (o *outputs) fields() []*[]num {
	return []*[]num{&o.pos, &o.com, &o.rot, &o.inertia, &o.velocity, &o.force, &o.constraint, &o.actuator}
}

// outputs are the frames of the state that was evaluated last, whose acceleration is known (mj_comPos, mj_comVel,
// mj_rnePostConstraint).
func (s *dynamics) outputs(x state, control []num) (out outputs) {
	f := s.kinematics(x.q)
	smooth, actuator, velocity := s.smooth(f, x.q, x.v, control)
	p := &problem{s, s.constrain(f, x.q, x.v, velocity), f, nil, smooth}
	excess := along(p.jacobian(x.warm), k(-1), p.reference)
	rows := pushes(active(p.weight, excess), excess)
	on := p.external(rows)
	out.constraint, out.actuator = p.forces(rows), actuator
	all := s.composite(f)
	root := 0
	for b, body := range s.Bodies {
		if body.Parent == 0 {
			root = b
		}
		centre := f.com[root]
		if total := all[root].mass; !total.Is(0) {
			centre = all[root].moment.scale(div(k(1), total))
		}
		for i := range 3 {
			out.pos = append(out.pos, add(f.origin[b][i], f.pos[b][i]))
			out.com = append(out.com, add(f.origin[b][i], f.com[b][i]))
			row := f.rot[b].row(i)
			out.rot = append(out.rot, row[:]...)
		}
		way := f.com[b].sub(centre)
		in := s.inertiaOf(b, way, f.rot[b].mul(oriented(body.ComQuat)))
		out.inertia = append(append(append(out.inertia, in.tensor[:]...), in.moment[:]...), in.mass)
		at := velocity[b].at(centre)
		out.velocity = append(append(out.velocity, velocity[b].ang[:]...), at[:]...)
		torque := on[b].ang.sub(centre.cross(on[b].lin))
		out.force = append(append(out.force, torque[:]...), on[b].lin[:]...)
	}
	return out
}

// external is the wrenches of contacts on bodies.
func (p *problem) external(rows []num) []motion {
	on, rest := p.wrenches(rows)
	for i, c := range p.chains {
		for b := range on {
			of := func(n num) num { return choose(scalars.Eq(n, k(float64(b))), k(1), k(0)) }
			if sign := sub(of(c.second), of(c.first)); !sign.Is(0) {
				push := c.along.scale(mul(sign, rest[i]))
				on[b] = on[b].add(wrench(push, c.point.add(p.f.apart(c.tree, b))))
			}
		}
	}
	on[0] = motion{}
	return on
}
