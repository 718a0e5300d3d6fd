package mjcf

import (
	"math"

	"xlarun/envs/bodies"
)

// lump is a part of a body: its mass, centre, axes, and moments of inertia about them.
type lump struct {
	mass       float64
	pos        [3]float64
	quat       [4]float64
	moment     [3]float64
	unweighted bool // a mesh, whose mass is not computed
}

// weigh adds what a geom weighs to its body: mass, or density times volume.
func (r *reader) weigh(a attributes, g bodies.Geom, b int) {
	if group := float64(a.integer("group", 0)); group < r.groups[0] || group > r.groups[1] {
		return
	}
	l := lump{pos: g.Pos, quat: g.Quat}
	x, y, z := g.Size[0], g.Size[1], g.Size[2]
	var volume float64
	switch g.Type {
	case bodies.Plane:
	case bodies.Sphere:
		volume = 4 * math.Pi * x * x * x / 3
	case bodies.Capsule:
		volume = math.Pi * (x*x*2*y + 4*x*x*x/3)
	case bodies.Cylinder:
		volume = math.Pi * x * x * 2 * y
	case "ellipsoid":
		volume = 4 * math.Pi * x * y * z / 3
	case "box":
		volume = 8 * x * y * z
	default:
		l.unweighted = a.number("mass", a.number("density", 1000)) != 0
	}
	density := a.number("density", 1000)
	if l.mass = a.number("mass", density*volume); l.mass < 0 {
		a.fail("its mass is %v: want at least 0", l.mass)
	}
	switch m := l.mass; g.Type {
	case bodies.Sphere:
		i := 2 * m * x * x / 5
		l.moment = [3]float64{i, i, i}
	case bodies.Capsule: // a cylinder and two halves of a sphere
		h := 2 * y
		ball := m * 4 * x / (4*x + 3*h)
		tube := m - ball
		i := tube*(3*x*x+h*h)/12 + 2*ball*x*x/5 + ball*h*(3*x+2*h)/8
		l.moment = [3]float64{i, i, tube*x*x/2 + 2*ball*x*x/5}
	case bodies.Cylinder:
		i := m * (3*x*x + 4*y*y) / 12
		l.moment = [3]float64{i, i, m * x * x / 2}
	case "ellipsoid":
		l.moment = [3]float64{m * (y*y + z*z) / 5, m * (x*x + z*z) / 5, m * (x*x + y*y) / 5}
	case "box":
		l.moment = [3]float64{m * (y*y + z*z) / 3, m * (x*x + z*z) / 3, m * (x*x + y*y) / 3}
	}
	if l.mass > 0 || l.unweighted {
		r.lumps[b] = append(r.lumps[b], l)
	}
}

// masses gives bodies their mass and inertia: from <inertial>, or from geoms.
func (r *reader) masses() {
	m := r.model
	carried := make([]float64, len(m.Bodies)) // with the bodies that are fixed to it
	total := 0.0
	for b := 1; b < len(m.Bodies); b++ {
		body, e := &m.Bodies[b], r.inertial[b]
		if e != nil && r.fromGeoms != "true" {
			r.given(e, body)
		} else if r.fromGeoms != "false" {
			r.fromLumps(b, body)
		}
		if r.leastMass > 0 {
			body.Mass = max(body.Mass, r.leastMass)
		}
		for i := range body.Inertia {
			body.Inertia[i] = max(body.Inertia[i], r.leastInt)
		}
		i := body.Inertia
		if !finite(body.Mass + i[0] + i[1] + i[2]) {
			r.origin[b-1].fail("mass %v, inertia %v: want finite numbers", body.Mass, i)
		}
		if sum := i[0] + i[1] + i[2]; sum < 2*max(i[0], i[1], i[2])*(1-1e-12) {
			if !r.balance {
				r.origin[b-1].fail("inertia %v: no body has it, as the largest is more than the other two together", i)
			}
			body.Inertia = [3]float64{sum / 3, sum / 3, sum / 3}
		}
		total += body.Mass
	}
	if r.totalMass > 0 && total > 0 {
		for b := range m.Bodies {
			body := &m.Bodies[b]
			body.Mass *= r.totalMass / total
			for i := range body.Inertia {
				body.Inertia[i] *= r.totalMass / total
			}
		}
	}
	for b := len(m.Bodies) - 1; b > 0; b-- {
		carried[b] += m.Bodies[b].Mass
		if !r.moves[b] {
			carried[m.Bodies[b].Parent] += carried[b]
		} else if carried[b] < 1e-15 {
			r.origin[b-1].fail("it moves and has no mass: give it a geom or an <inertial>")
		}
	}
}

// given reads <inertial>.
func (r *reader) given(e *element, body *bodies.Body) {
	a := e.check()
	if !a.has("pos") || !a.has("mass") {
		e.fail("want pos and mass")
	}
	a.numbers("pos", body.Com[:], 3)
	body.Mass, body.ComQuat = a.number("mass", 0), r.orientation(a)
	var full [6]float64
	a.numbers("diaginertia", body.Inertia[:], 3)
	if a.numbers("fullinertia", full[:], 6) > 0 {
		if a.has("diaginertia") {
			e.fail("it has diaginertia and fullinertia: want one")
		}
		var turned [4]float64
		body.Inertia, turned = principal([3][3]float64{{full[0], full[3], full[4]}, {full[3], full[1], full[5]},
			{full[4], full[5], full[2]}})
		body.ComQuat = product(body.ComQuat, turned)
	}
	if body.Mass < 0 || min(body.Inertia[0], body.Inertia[1], body.Inertia[2]) < 0 {
		e.fail("mass %v, inertia %v: want at least 0", body.Mass, body.Inertia)
	}
}

// fromLumps adds up a body's geoms (mjCBody::InertiaFromGeom).
func (r *reader) fromLumps(b int, body *bodies.Body) {
	lumps := r.lumps[b]
	for _, l := range lumps {
		if l.unweighted {
			r.origin[b-1].fail(`the mass of a mesh is not computed: give the body an <inertial>, or the geom mass="0"`)
		}
		body.Mass += l.mass
		for i := range 3 {
			body.Com[i] += l.mass * l.pos[i]
		}
	}
	if len(lumps) == 0 {
		return
	}
	if len(lumps) == 1 {
		body.Com, body.ComQuat, body.Inertia = lumps[0].pos, lumps[0].quat, lumps[0].moment
		return
	}
	for i := range 3 {
		body.Com[i] /= body.Mass
	}
	var sum [3][3]float64
	for _, l := range lumps {
		m := axes(l.quat)
		d := [3]float64{l.pos[0] - body.Com[0], l.pos[1] - body.Com[1], l.pos[2] - body.Com[2]}
		for i := range 3 {
			for j := range 3 {
				sum[i][j] -= l.mass * d[i] * d[j]
				for k := range 3 {
					sum[i][j] += m[i][k] * l.moment[k] * m[j][k]
				}
			}
			sum[i][i] += l.mass * dot(d, d)
		}
	}
	body.Inertia, body.ComQuat = principal(sum)
}

// principal are the moments of inertia, the largest first, and the axes that they are about, by the rotations of MuJoCo
// in their order (mjuu_eig3): where two moments are equal the axes are its own, on which the force of a fluid depends.
func principal(m [3][3]float64) (moments [3]float64, quat [4]float64) {
	quat = identity
	for range 500 {
		v := axes(quat) // its columns are the axes
		var d [3][3]float64
		for i := range 3 {
			for j := range 3 {
				for k := range 3 {
					for l := range 3 {
						d[i][j] += v[k][i] * m[k][l] * v[l][j]
					}
				}
			}
			moments[i] = d[i][i]
		}
		p, q, about := 1, 2, 0
		if x, y, z := math.Abs(d[0][1]), math.Abs(d[0][2]), math.Abs(d[1][2]); x > y && x > z {
			p, q, about = 0, 1, 2
		} else if y > z {
			p, q, about = 0, 2, 1
		}
		if math.Abs(d[p][q]) <= 1e-15*(moments[0]+moments[1]+moments[2]) {
			break
		}
		tau := (d[q][q] - d[p][p]) / (2 * d[p][q])
		t := 1 / (math.Abs(tau) + math.Sqrt(1+tau*tau))
		c := 1 / math.Sqrt(1+t*t)
		half := t * c / (2 * math.Sqrt(.5+.5*c)) // the sine of half the angle
		if (tau >= 0) != (about == 1) {
			half = -half
		}
		turned := [4]float64{math.Sqrt(1 - half*half)}
		turned[1+about] = half
		quat = unitQuat(product(quat, turned))
	}
	for _, i := range []int{0, 1, 0} { // the largest first
		if moments[i]+1e-12 < moments[i+1] {
			moments[i], moments[i+1] = moments[i+1], moments[i]
			turned := [4]float64{math.Sqrt2 / 2}
			turned[1+(i+2)%3] = math.Sqrt2 / 2
			quat = unitQuat(product(quat, turned))
		}
	}
	return moments, quat
}
