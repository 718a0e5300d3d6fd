package bodies

import (
	"math"

	"xlarun/graph/scalars"
)

// fluid is the wrenches of a medium on bodies, each taken for a box of its inertia (mj_inertiaBoxFluidModel;
// "Passive forces, Inertia model").
func (s *dynamics) fluid(f *frames, v []motion) []motion {
	on := make([]motion, len(s.Bodies))
	density, viscosity := s.medium[0], s.medium[1]
	for b, body := range s.Bodies {
		if body.Mass < minVal {
			continue
		}
		in := s.inertia[3*b : 3*b+3]
		var box [3]num
		for i := range 3 {
			wide := scalars.Max(k(minVal), sub(add(in[(i+1)%3], in[(i+2)%3]), in[i]))
			box[i] = sqrt(div(mul(k(6), wide), s.mass[b]))
		}
		diameter := div(sum(box[:]...), k(3))
		axes := f.rot[b].mul(oriented(body.ComQuat))
		turn, move := axes.back(v[b].ang), axes.back(v[b].at(f.com[b]))
		var torque, force vec
		for i := range 3 {
			y, z := box[(i+1)%3], box[(i+2)%3]
			drag := mul(mul(density, k(.5)), mul(y, z))
			force[i] = neg(add(mul(mul(k(3*math.Pi), mul(diameter, viscosity)), move[i]), mul(drag,
				mul(abs(move[i]), move[i]))))
			spin := mul(mul(density, k(1./64)), mul(box[i], add(sq(sq(y)), sq(sq(z)))))
			stokes := mul(mul(k(math.Pi), viscosity), mul(diameter, sq(diameter)))
			torque[i] = neg(add(mul(stokes, turn[i]), mul(spin, mul(abs(turn[i]), turn[i]))))
		}
		push := axes.times(force)
		on[b] = motion{axes.times(torque).add(f.com[b].cross(push)), push}
	}
	return on
}
