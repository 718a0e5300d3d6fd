package bodies

import (
	"math"

	"xlarun/graph/scalars"
)

type num = scalars.Num

var (
	add, sub, mul, div = scalars.Add, scalars.Sub, scalars.Mul, scalars.Div
	neg, abs, sqrt     = scalars.Neg, scalars.Abs, scalars.Sqrt
	less, choose       = scalars.Lt, scalars.Select
	sum, dot           = scalars.Sum, scalars.Dot
	k                  = scalars.Known
)

// minVal is mjMINVAL, what MuJoCo calls zero.
const minVal = 1e-15

func sq(x num) num { return mul(x, x) }

func knowns(x []float64) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = k(x[i])
	}
	return out
}

// along is x + h d.
func along(x []num, h num, d []num) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = add(x[i], mul(h, d[i]))
	}
	return out
}

func each(c scalars.Cond, x, y []num) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = choose(c, x[i], y[i])
	}
	return out
}

// clean is a number of a model as a scalar: next to zero it is zero, and so it folds.
func clean(x float64) num {
	if r := math.Round(x); math.Abs(x-r) < 1e-13 && math.Abs(r) <= 1 {
		x = r
	}
	return k(x)
}

type vec [3]num

func known(x [3]float64) vec { return vec{clean(x[0]), clean(x[1]), clean(x[2])} }

func (v vec) add(w vec) vec   { return vec{add(v[0], w[0]), add(v[1], w[1]), add(v[2], w[2])} }
func (v vec) sub(w vec) vec   { return vec{sub(v[0], w[0]), sub(v[1], w[1]), sub(v[2], w[2])} }
func (v vec) scale(s num) vec { return vec{mul(v[0], s), mul(v[1], s), mul(v[2], s)} }
func (v vec) dot(w vec) num   { return dot(v[:], w[:]) }
func (v vec) cross(w vec) vec {
	return vec{sub(mul(v[1], w[2]), mul(v[2], w[1])), sub(mul(v[2], w[0]), mul(v[0], w[2])),
		sub(mul(v[0], w[1]), mul(v[1], w[0]))}
}

// mat is a matrix of three columns.
type mat [3]vec

func (m mat) row(i int) vec { return vec{m[0][i], m[1][i], m[2][i]} }

// times is m v, by rows.
func (m mat) times(v vec) vec { return vec{m.row(0).dot(v), m.row(1).dot(v), m.row(2).dot(v)} }

// back is the transposed m times v.
func (m mat) back(v vec) vec { return vec{m[0].dot(v), m[1].dot(v), m[2].dot(v)} }

func (m mat) mul(n mat) mat { return mat{m.times(n[0]), m.times(n[1]), m.times(n[2])} }

// normalized is a vector of length 1: along x if it is 0.
func (v vec) normalized() vec {
	square := v.dot(v)
	tiny := less(square, k(minVal*minVal))
	v = v.scale(div(k(1), sqrt(choose(tiny, k(1), square))))
	return vec{choose(tiny, k(1), v[0]), choose(tiny, k(0), v[1]), choose(tiny, k(0), v[2])}
}

// quaternion is (w, x, y, z).
type quaternion [4]num

// rotation is the matrix of a unit quaternion (mju_quat2Mat).
func (q quaternion) rotation() mat {
	w, x, y, z := q[0], q[1], q[2], q[3]
	two := func(a, b, c, d num) num { return mul(k(2), add(mul(a, b), mul(c, d))) }
	less1 := func(a, b num) num { return sub(k(1), two(a, a, b, b)) }
	return mat{
		{less1(y, z), two(x, y, w, z), two(x, z, neg(w), y)},
		{two(x, y, neg(w), z), less1(x, z), two(y, z, w, x)},
		{two(x, z, w, y), two(y, z, neg(w), x), less1(x, y)}}
}

// times is the product of quaternions (mju_mulQuat).
func (q quaternion) times(r quaternion) quaternion {
	return quaternion{
		sub(mul(q[0], r[0]), sum(mul(q[1], r[1]), mul(q[2], r[2]), mul(q[3], r[3]))),
		sub(sum(mul(q[0], r[1]), mul(q[1], r[0]), mul(q[2], r[3])), mul(q[3], r[2])),
		sub(sum(mul(q[0], r[2]), mul(q[2], r[0]), mul(q[3], r[1])), mul(q[1], r[3])),
		sub(sum(mul(q[0], r[3]), mul(q[3], r[0]), mul(q[1], r[2])), mul(q[2], r[1]))}
}

func (q quaternion) normalized() quaternion {
	scale := div(k(1), sqrt(dot(q[:], q[:])))
	return quaternion{mul(q[0], scale), mul(q[1], scale), mul(q[2], scale), mul(q[3], scale)}
}

// oriented is the matrix of a quaternion of the model. Numbers next to 0 and 1 are these, so that they fold.
func oriented(q [4]float64) mat {
	length := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	m := quaternion{clean(q[0] / length), clean(q[1] / length), clean(q[2] / length), clean(q[3] / length)}.rotation()
	for j := range m {
		for i := range m[j] {
			x, _ := m[j][i].Value()
			m[j][i] = clean(x)
		}
	}
	return m
}

// turn is the rotation about a known unit axis by an angle, given its sine and cosine.
func turn(axis vec, sin, cos num) (m mat) {
	rest := sub(k(1), cos)
	for j := range 3 {
		for i := range 3 {
			x := mul(mul(axis[i], axis[j]), rest)
			switch {
			case i != j:
				y := mul(axis[3-i-j], sin)
				if (i+1)%3 == j {
					y = neg(y)
				}
				x = add(x, y)
			case axis[i].Is(1) || axis[i].Is(-1):
				x = k(1)
			default:
				x = add(x, cos)
			}
			m[j][i] = x
		}
	}
	return m
}

// motion is a spatial vector at the origin of a tree: an angular and a linear velocity, or a torque and a force.
type motion struct{ ang, lin vec }

func (a motion) add(b motion) motion { return motion{a.ang.add(b.ang), a.lin.add(b.lin)} }
func (a motion) scale(s num) motion  { return motion{a.ang.scale(s), a.lin.scale(s)} }
func (a motion) dot(b motion) num {
	return dot(append(a.ang[:], a.lin[:]...), append(b.ang[:], b.lin[:]...))
}
func (a motion) at(p vec) vec    { return a.lin.add(a.ang.cross(p)) }
func wrench(force, p vec) motion { return motion{p.cross(force), force} }

// crossMotion is the rate of a motion b that moves with a, crossForce that of a force (mju_crossMotion,
// mju_crossForce).
func crossMotion(a, b motion) motion {
	return motion{a.ang.cross(b.ang), a.ang.cross(b.lin).add(a.lin.cross(b.ang))}
}

func crossForce(a, b motion) motion {
	return motion{a.ang.cross(b.ang).add(a.lin.cross(b.lin)), a.ang.cross(b.lin)}
}
