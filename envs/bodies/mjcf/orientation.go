package mjcf

import (
	"math"
	"strings"
)

var identity = [4]float64{1, 0, 0, 0}

// orientation is how an element is turned, in a quaternion (mjs_resolveOrientation).
func (r *reader) orientation(a attributes) [4]float64 {
	q, unit := identity, 1.0
	if r.degrees {
		unit = math.Pi / 180
	}
	given := 0
	for _, o := range orientations {
		if !a.has(o) {
			continue
		}
		if given++; given > 1 {
			a.fail("it has two of %s: want one", strings.Join(orientations, ", "))
		}
		var v [6]float64
		switch o {
		case "quat":
			a.numbers(o, q[:], 4)
			if n := math.Hypot(math.Hypot(q[0], q[1]), math.Hypot(q[2], q[3])); n < 1e-15 || n > 1e100 {
				a.fail("quat=%q: want a rotation", a.values[o])
			}
		case "axisangle":
			a.numbers(o, v[:4], 4)
			q = turn(a.direction(o, [3]float64(v[:3])), v[3]*unit)
		case "zaxis":
			a.numbers(o, v[:3], 3)
			q = fromZ(a.direction(o, [3]float64(v[:3])))
		case "xyaxes":
			a.numbers(o, v[:], 6)
			x := a.direction(o, [3]float64(v[:3]))
			y := [3]float64(v[3:])
			d := dot(x, y)
			y = a.direction(o, [3]float64{y[0] - d*x[0], y[1] - d*x[1], y[2] - d*x[2]})
			z := cross(x, y)
			q = fromAxes([3][3]float64{{x[0], y[0], z[0]}, {x[1], y[1], z[1]}, {x[2], y[2], z[2]}})
		case "euler":
			a.numbers(o, v[:3], 3)
			for i, c := range r.eulerOrder {
				var axis [3]float64
				axis[strings.IndexRune("xyz", c|0x20)] = 1
				if step := turn(axis, v[i]*unit); c >= 'a' { // about the axes as they are by then
					q = product(q, step)
				} else {
					q = product(step, q)
				}
			}
		}
	}
	return unitQuat(q)
}

// direction is a vector of length 1.
func (a attributes) direction(name string, v [3]float64) [3]float64 {
	n := math.Sqrt(dot(v, v))
	if n < 1e-15 || !finite(n) {
		a.fail("%s=%q: want a direction", name, a.values[name])
	}
	return [3]float64{v[0] / n, v[1] / n, v[2] / n}
}

func turn(axis [3]float64, angle float64) [4]float64 {
	s, c := math.Sincos(angle / 2)
	return [4]float64{c, s * axis[0], s * axis[1], s * axis[2]}
}

// fromZ turns the z axis to a direction (mjuu_z2quat).
func fromZ(v [3]float64) [4]float64 {
	axis := cross([3]float64{0, 0, 1}, v)
	s := math.Sqrt(dot(axis, axis))
	if s < 1e-10 {
		return turn([3]float64{1, 0, 0}, math.Atan2(s, v[2]))
	}
	return turn([3]float64{axis[0] / s, axis[1] / s, axis[2] / s}, math.Atan2(s, v[2]))
}

// fromAxes is the quaternion of a rotation matrix: of the four ways to write it the one with the largest divisor.
func fromAxes(m [3][3]float64) [4]float64 {
	w := [4]float64{m[0][0] + m[1][1] + m[2][2], m[0][0] - m[1][1] - m[2][2], m[1][1] - m[0][0] - m[2][2],
		m[2][2] - m[0][0] - m[1][1]}
	k := 0
	for i := range w {
		if w[i] > w[k] {
			k = i
		}
	}
	d := math.Sqrt(1+w[k]) * 2
	x, y, z := m[2][1]-m[1][2], m[0][2]-m[2][0], m[1][0]-m[0][1]
	p, q, r := m[0][1]+m[1][0], m[0][2]+m[2][0], m[1][2]+m[2][1]
	return unitQuat([4][4]float64{
		{d / 4, x / d, y / d, z / d},
		{x / d, d / 4, p / d, q / d},
		{y / d, p / d, d / 4, r / d},
		{z / d, q / d, r / d, d / 4}}[k])
}

// axes are the rotation matrix of a quaternion.
func axes(q [4]float64) (m [3][3]float64) {
	w, v := q[0], [3]float64(q[1:])
	for i := range 3 {
		for j := range 3 {
			m[i][j] = 2 * v[i] * v[j]
		}
		m[i][i] += w*w - dot(v, v)
		j, k := (i+1)%3, (i+2)%3
		m[i][j] -= 2 * w * v[k]
		m[i][k] += 2 * w * v[j]
	}
	return m
}

func product(a, b [4]float64) [4]float64 {
	return [4]float64{a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3], a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2],
		a[0]*b[2] - a[1]*b[3] + a[2]*b[0] + a[3]*b[1], a[0]*b[3] + a[1]*b[2] - a[2]*b[1] + a[3]*b[0]}
}

func unitQuat(q [4]float64) [4]float64 {
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	return [4]float64{q[0] / n, q[1] / n, q[2] / n, q[3] / n}
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
