package bodies

import "slices"

// constants computes the inverse weights of bodies and of degrees of freedom in the model's first configuration, whose
// frames are f. They scale contacts and limits (engine_setconst.c: set0), and follow from masses and lengths: known if
// these are.
func (s *dynamics) constants(f *frames) {
	l := s.massMatrix(f).factor()
	// across is u' M^-1 u.
	across := func(u []num) num { return dot(u, l.solve(u)) }
	s.bodyWeight, s.dofWeight = make([]num, len(s.Bodies)), make([]num, len(s.dofs))
	for b := 1; b < len(s.Bodies); b++ {
		for i := range 3 {
			u := make([]num, len(s.dofs))
			s.above(s.last[b], func(d int) { u[d] = f.axes[d].at(f.com[b])[i] })
			s.bodyWeight[b] = add(s.bodyWeight[b], div(across(u), k(3)))
		}
	}
	for d := range s.dofs {
		u := make([]num, len(s.dofs))
		u[d] = k(1)
		s.dofWeight[d] = across(u)
		if b := s.dofs[d].body; s.onlySlides(b) {
			s.dofWeight[d] = div(k(1), s.mass[b])
			s.bodyWeight[b] = s.dofWeight[d]
		}
	}
}

// onlySlides reports whether MuJoCo takes a body for a mass that slides along its own axes (body_simple 2). Then
// armature does not count.
func (s *dynamics) onlySlides(b int) bool {
	body := s.Bodies[b]
	ok := s.end[b] == b+1 && s.last[body.Parent] < 0 && known(body.Com) == vec{} && oriented(body.ComQuat) == oriented(
		[4]float64{1, 0, 0, 0})
	for _, j := range s.Joints {
		if j.Body == b {
			axis := known(j.Axis)
			ok = ok && j.Type == Slide && slices.ContainsFunc(axis[:], func(x num) bool { return x.Is(1) || x.Is(-1) })
		}
	}
	return ok
}

// findPlanar finds the bodies whose joints, in the first configuration f and so always, move them in the plane of x and
// z.
func (s *dynamics) findPlanar(f *frames) {
	for b := range s.planar {
		s.planar[b] = true
		s.above(s.last[b], func(d int) {
			w, v := f.axes[d].ang, f.axes[d].lin
			s.planar[b] = s.planar[b] && w[0].Is(0) && w[2].Is(0) && v[1].Is(0)
		})
	}
}
