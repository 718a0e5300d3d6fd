package bodies

import (
	"xlarun/graph/scalars"
)

// cylinderSteps are enough for 1e-12 of a capsule's length.
const cylinderSteps = 12

// nearestCylinder is where a capsule is nearest to a cylinder with these axes. MuJoCo finds the same point by GJK
// (mjc_Convex), its normal to about 1e-6, and for axes that are parallel to a face or to the side a second one. The
// square of the distance along the capsule's axis is convex, so Newton steps within a bracket find its least value.
// If the capsule's axis itself is within the cylinder, the push is along the radius.
func (a segment) nearestCylinder(b segment, axes mat) (point, normal vec, dist num) {
	centre, axis := axes.back(a.centre.sub(b.centre)), axes.back(a.axis) // in the cylinder's frame
	at := func(t num) vec { return centre.add(axis.scale(t)) }
	flat := func(v, w vec) num { return dot(v[:2], w[:2]) }
	beyond := func(x, most num) num { return scalars.Max(k(0), sub(x, most)) }
	radius := func(p vec) num { return scalars.Max(k(minVal), sqrt(flat(p, p))) }
	spread := flat(axis, axis)
	start := a.within(div(neg(flat(centre, axis)), scalars.Max(spread, k(minVal)))) // nearest to the cylinder's axis
	found, _ := scalars.Scan(make([][]float64, cylinderSteps), []num{start, neg(a.half), a.half},
		func(c, _ []num) (next, last []num) {
			t, low, high := c[0], c[1], c[2]
			p := at(t)
			r := radius(p)
			side, top := beyond(r, b.radius), beyond(abs(p[2]), b.half)
			slope := div(flat(p, axis), r)
			rise := choose(less(p[2], k(0)), neg(axis[2]), axis[2])
			first := add(mul(side, slope), mul(top, rise))
			bend := add(sq(slope), mul(side, div(sub(spread, sq(slope)), r)))
			second := add(choose(less(k(0), side), bend, k(0)), choose(less(k(0), top), sq(rise), k(0)))
			falls := less(first, k(0))
			low, high = choose(falls, t, low), choose(falls, high, t)
			t = a.within(sub(t, div(first, scalars.Max(second, k(minVal)))))
			outside := scalars.Or(less(t, low), less(high, t))
			return []num{choose(outside, mul(k(.5), add(low, high)), t), low, high}, nil
		})
	p := at(found[0])
	r := radius(p)
	scale := choose(less(b.radius, r), div(b.radius, r), k(1))
	to := vec{mul(p[0], scale), mul(p[1], scale), b.within(p[2])}
	away := to.sub(p)
	length := sqrt(away.dot(away))
	deep := less(length, k(1e-9))
	normal = away.scale(div(k(1), choose(deep, k(1), length)))
	for i, x := range [3]num{div(p[0], r), div(p[1], r), {}} {
		normal[i] = choose(deep, neg(x), normal[i])
	}
	dist = sub(choose(deep, sub(r, b.radius), length), a.radius)
	point = p.add(normal.scale(add(a.radius, mul(k(.5), dist))))
	return b.centre.add(axes.times(point)), axes.times(normal), dist
}
