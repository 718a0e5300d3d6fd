package bodies

import (
	"math"

	"xlarun/graph/scalars"
)

// rule is how a constraint gives way, from solref and solimp ("Solver parameters"; getsolparam, mj_makeImpedance).
type rule struct {
	low, high, width, mid float64 // impedance at the margin and at a violation of width
	power                 int
	stiffness, damping    float64
}

func (s *dynamics) rule(ref [2]float64, imp [5]float64) rule {
	part := func(x float64) float64 { return min(.9999, max(.0001, x)) }
	r := rule{low: part(imp[0]), high: part(imp[1]), width: max(0, imp[2]), mid: part(imp[3]), power: int(imp[4])}
	if ref[0] > 0 {
		time := max(ref[0], 2*s.Timestep)
		r.stiffness, r.damping = 1/(r.high*r.high*time*time*ref[1]*ref[1]), 2/(r.high*time)
	} else {
		r.stiffness, r.damping = -ref[0]/(r.high*r.high), -ref[1]/r.high
	}
	return r
}

// impedance is d(x) of the violation x.
func (r rule) impedance(x num) num {
	if r.low == r.high || r.width <= minVal {
		return k((r.low + r.high) / 2)
	}
	u := scalars.Min(k(1), mul(abs(x), k(1/r.width)))
	y := u
	if r.power > 1 {
		curve := func(u num, mid float64) num {
			y := k(1 / math.Pow(mid, float64(r.power-1)))
			for range r.power {
				y = mul(y, u)
			}
			return y
		}
		y = choose(less(u, k(r.mid)), curve(u, r.mid), sub(k(1), curve(sub(k(1), u), 1-r.mid)))
	}
	return add(k(r.low), mul(y, k(r.high-r.low)))
}

// ofContact is what the contact of two geoms has of theirs: that of the geom with the higher priority, else both mixed
// (mj_contactParam).
func ofContact[T any](g, h Geom, ofG, ofH T, mix func(ofG, ofH T) T) T {
	switch {
	case g.Priority > h.Priority:
		return ofG
	case g.Priority < h.Priority:
		return ofH
	}
	return mix(ofG, ofH)
}

// condim is of a contact of two geoms.
func condim(g, h Geom) int {
	return ofContact(g, h, g.Condim, h.Condim, func(g, h int) int { return max(g, h) })
}

// mixed is the rule of two geoms' contact.
func (s *dynamics) mixed(g, h Geom) rule {
	x := ofContact(g, h, g, h, mixture)
	return s.rule(x.Solref, x.Solimp)
}

// mixture is a geom with solref and solimp of two, in the parts of their solmix.
func mixture(g, h Geom) Geom {
	ref, imp, part := g.Solref, g.Solimp, g.Solmix/(g.Solmix+h.Solmix)
	for i := range ref {
		if g.Solref[0] > 0 && h.Solref[0] > 0 {
			ref[i] = part*ref[i] + (1-part)*h.Solref[i]
		} else {
			ref[i] = min(ref[i], h.Solref[i])
		}
	}
	for i := range imp {
		imp[i] = part*imp[i] + (1-part)*h.Solimp[i]
	}
	g.Solref, g.Solimp = ref, imp
	return g
}

// constraints are what pushes where a configuration is beyond a limit or geoms touch: rows of a Jacobian J, with
// weights D and accelerations of reference. First are the rows of contacts, then those of chains, then those of
// limits. A row is active while J a < reference.
type constraints struct {
	contacts          []contact
	chains            []chain
	limits            []limit
	weight, reference []num
}

// contact is of a body with what does not move. Its rows are along normal + t and normal - t for the tangents t, which
// have the length of the friction, and the normal itself if alone.
type contact struct {
	body     int
	point    vec // from the origin of the body's tree
	normal   vec
	tangents []vec
	alone    bool
	touches  scalars.Cond
}

// chain is a row of a contact of two bodies that both move.
type chain struct {
	row           []num // of J, for all degrees of freedom
	along, point  vec   // the direction, and the point from the origin of a body's tree
	tree          int   // that body
	first, second num   // the bodies' numbers
	touches       scalars.Cond
}

type limit struct {
	dof  int
	sign num
}

// below is an acceleration that no row stays below, and mostRows are the most rows of a contact.
const below, mostRows = -1e10, 4

// never reports whether a constraint is known not to exist.
func never(pos num) bool {
	x, known := pos.Value()
	return known && x >= 0
}

// push adds a row's numbers: of the violation pos, which is below 0 where the constraint exists, of the row's velocity,
// and of the diagonal of J M^-1 J' as it is estimated (mj_makeImpedance). Pyramids have another factor.
func (c *constraints) push(r rule, pos, velocity, diagonal, pyramid num) {
	d := r.impedance(pos)
	regular := scalars.Max(k(minVal), div(mul(sub(k(1), d), diagonal), d))
	c.weight = append(c.weight, div(pyramid, regular))
	reference := sub(mul(k(-r.damping), velocity), mul(mul(k(r.stiffness), d), pos))
	c.reference = append(c.reference, choose(less(pos, k(0)), reference, k(below)))
}

// pushWhen adds the rows that f pushes where pos is below 0, at most mostRows of them, and returns what f returns as
// far as it is wanted: what is known stays known, the rest is 0 elsewhere.
func (c *constraints) pushWhen(touches scalars.Cond, wanted int, f func(c *constraints) []num) []num {
	var own constraints
	otherwise := make([]num, wanted+2*mostRows)
	out := scalars.When(touches, func() []num {
		out := append(make([]num, 0, len(otherwise)), f(&own)...)
		out = append(out, make([]num, wanted-len(out))...)
		for _, rows := range [][]num{own.weight, own.reference} {
			out = append(append(out, rows...), make([]num, mostRows-len(rows))...)
		}
		for i, x := range out {
			if _, known := x.Value(); known {
				otherwise[i] = x
			} else if i >= wanted+mostRows {
				otherwise[i] = k(below)
			}
		}
		return out
	}, otherwise)
	n := len(own.weight)
	c.weight = append(c.weight, out[wanted:wanted+n]...)
	c.reference = append(c.reference, out[wanted+mostRows:wanted+mostRows+n]...)
	return out[:wanted]
}

// constrain is mj_makeConstraint, with velocities of bodies and of degrees of freedom.
func (s *dynamics) constrain(f *frames, q, rate []num, v []motion) *constraints {
	c := &constraints{}
	var moving []meeting
	segments := s.segments(f)
	pairs, many := s.crowded()
	for _, p := range pairs {
		for _, x := range s.meet(f, segments, p) {
			if never(x.pos) {
				continue
			}
			if s.last[x.body[0]] >= 0 && s.last[x.body[1]] >= 0 {
				moving = append(moving, x)
				continue
			}
			c.ground(s, f, x, v)
		}
	}
	for _, x := range moving {
		c.between(s, f, x, rate)
	}
	for _, group := range many {
		c.nearest(s, f, segments, group, rate)
	}
	for j, joint := range s.Joints {
		if !joint.Limited {
			continue
		}
		d := s.v[j]
		low, high := sub(q[s.q[j]], k(joint.Range[0])), sub(k(joint.Range[1]), q[s.q[j]])
		sign := choose(less(low, high), k(1), k(-1))
		pos := sub(scalars.Min(low, high), k(joint.Margin))
		if never(pos) {
			continue
		}
		c.limits = append(c.limits, limit{d, sign})
		c.push(s.rule(joint.Solref, joint.Solimp), pos, mul(sign, rate[d]), s.dofWeight[d], k(1))
	}
	return c
}

// meeting is where two geoms are nearest.
type meeting struct {
	body     [2]int
	point    vec // half way between the geoms, from the origin of the second body's tree
	normal   vec // from the first geom to the second
	axis     vec // of the first tangent; zero: any
	pos      num // the distance beyond the margin
	dim      int
	friction num
	rule     rule
	diagonal num // the bodies' inverse weights, and those of the pyramid's edges
	pyramid  num // the weight of an edge of the pyramid, as a part of a normal's; 1 without friction
}

// tangents are none without friction.
func (x meeting) tangents() []vec {
	if x.dim != 3 {
		return nil
	}
	first := tangent(x.normal, x.axis)
	return []vec{first, x.normal.cross(first)}
}

// ground adds a contact of which one body does not move.
func (c *constraints) ground(s *dynamics, f *frames, x meeting, v []motion) {
	t := contact{body: x.body[1], point: x.point, normal: x.normal, alone: x.dim == 1}
	if s.last[t.body] < 0 {
		t.body, t.point, t.normal = x.body[0], x.point.add(f.apart(x.body[1], x.body[0])), x.normal.scale(k(-1))
	}
	t.touches = less(x.pos, k(0))
	tangents := c.pushWhen(t.touches, 6, func(c *constraints) (out []num) {
		for _, tangent := range x.tangents() {
			if s.planar[t.body] && tangent[0].Is(0) && tangent[2].Is(0) {
				t.alone = true // the body cannot move along it: its two rows are one of twice the weight
				continue
			}
			t.tangents = append(t.tangents, tangent.scale(x.friction))
			out = append(out, t.tangents[len(t.tangents)-1][:]...)
		}
		for i, velocity := range t.rows(v[t.body]) {
			if x.dim == 3 && i == 2*len(t.tangents) {
				x.pyramid = mul(x.pyramid, k(float64(4-2*len(t.tangents))))
			}
			c.push(x.rule, x.pos, velocity, x.diagonal, x.pyramid)
		}
		return out
	})
	for i := range t.tangents {
		t.tangents[i] = vec(tangents[3*i : 3*i+3])
	}
	c.contacts = append(c.contacts, t)
}

// between adds a contact of two bodies that both move.
func (c *constraints) between(s *dynamics, f *frames, x meeting, rate []num) {
	directions := []vec{x.normal}
	if x.dim == 3 {
		directions = nil
		for _, t := range x.tangents() {
			t = t.scale(x.friction)
			directions = append(directions, x.normal.add(t), x.normal.sub(t))
		}
	}
	for _, along := range directions {
		row := make([]num, len(s.dofs))
		a, b := x.body[0], x.body[1]
		s.above(s.last[b], func(d int) { row[d] = f.axes[d].dot(wrench(along, x.point)) })
		first := x.point.add(f.apart(b, a))
		s.above(s.last[a], func(d int) {
			if s.isAbove(d, b) {
				row[d] = num{}
			} else {
				row[d] = neg(f.axes[d].dot(wrench(along, first)))
			}
		})
		c.chains = append(c.chains, chain{row, along, x.point, b, k(float64(a)), k(float64(b)),
			less(x.pos, k(0))})
		c.push(x.rule, x.pos, dot(row, rate), x.diagonal, x.pyramid)
	}
}

// isAbove reports whether a degree of freedom moves a body.
func (s *dynamics) isAbove(d, body int) bool {
	b := s.dofs[d].body
	return b <= body && body < s.end[b]
}

// apart is the way from the origin of b's tree to that of a's.
func (f *frames) apart(a, b int) vec {
	if f.origin[a] == f.origin[b] {
		return vec{}
	}
	return f.origin[a].sub(f.origin[b])
}

// rows are the velocities of a contact's rows of its body's motion.
func (t contact) rows(v motion) (out []num) {
	at := v.at(t.point)
	along := t.normal.dot(at)
	for _, u := range t.tangents {
		side := u.dot(at)
		out = append(out, add(along, side), sub(along, side))
	}
	if t.alone {
		out = append(out, along)
	}
	return out
}

// pushes is the wrench of forces along the rows.
func (t contact) pushes(force []num) motion {
	total := t.normal.scale(sum(force...))
	for i, u := range t.tangents {
		total = total.add(u.scale(sub(force[2*i], force[2*i+1])))
	}
	return wrench(total, t.point)
}

// margin is the distance below which two geoms touch (getMargin in engine_collision_driver.c).
func (s *dynamics) margin(g, h Geom) float64 {
	if s.engine == 3 {
		return max(g.Margin, h.Margin)
	}
	return g.Margin + h.Margin
}

// leastFriction is the least of a contact (mjMINMU, mj_setContact).
const leastFriction = 1e-5

// meet is the contacts that a pair can have (engine_collision_primitive.c).
func (s *dynamics) meet(f *frames, segments []segment, p Pair) (out []meeting) {
	a, b := s.ordered(p)
	g, h := s.Geoms[a], s.Geoms[b]
	margin := s.margin(g, h)
	friction := ofContact(g, h, s.friction[a], s.friction[b], scalars.Max)
	base := meeting{body: [2]int{g.Body, h.Body}, dim: condim(g, h), rule: s.mixed(g, h), pyramid: k(1),
		friction: scalars.Max(friction, k(leastFriction)), diagonal: add(s.bodyWeight[g.Body], s.bodyWeight[h.Body])}
	if base.dim == 3 {
		square := sq(base.friction)
		base.pyramid, base.diagonal = div(k(.5), square), mul(base.diagonal, add(k(1), square))
	}
	end := func(point, normal, axis vec, dist num) {
		x := base
		x.point, x.normal, x.axis, x.pos = point, normal, axis, sub(dist, k(margin))
		out = append(out, x)
	}
	first, second := segments[a], segments[b]
	first.centre = first.centre.add(f.apart(g.Body, h.Body))
	switch {
	case h.Type == Cylinder && g.Type == Plane:
		return nil // Check has found that the body does not move along the normal
	case h.Type == Cylinder:
		point, normal, dist := first.nearestCylinder(second, f.rot[h.Body].mul(oriented(h.Quat)))
		end(point, normal, vec{}, dist)
		return out
	case g.Type != Plane:
		for _, t := range s.touch(first, second) {
			end(t.point, t.normal, vec{}, t.dist)
		}
		return out
	}
	normal := first.axis
	height := normal.dot(second.centre.sub(first.centre))
	for _, side := range []float64{1, -1} {
		centre, level := second.centre, height
		if h.Type == Capsule {
			reach := mul(k(side), second.half)
			centre, level = centre.add(second.axis.scale(reach)), add(level, mul(reach, normal.dot(second.axis)))
		}
		dist := sub(level, second.radius)
		axis := vec{}
		if h.Type == Capsule {
			axis = second.axis
		}
		end(centre.sub(normal.scale(add(second.radius, mul(k(.5), dist)))), normal, axis, dist)
		if h.Type == Sphere {
			break
		}
	}
	return out
}

// tangent is the first tangent of a contact: along the axis, or without one along y, or along z if the normal is nearer
// to y (mju_makeFrame). Its sign does not matter.
func tangent(normal, axis vec) vec {
	if axis == (vec{}) {
		steep := less(k(.5), abs(normal[1]))
		axis = vec{num{}, choose(steep, k(0), k(1)), choose(steep, k(1), k(0))}
	}
	along := normal.dot(axis)
	var t vec
	only, count := 0, 0
	for i := range t {
		if normal[i].Is(1) || normal[i].Is(-1) {
			continue
		}
		if t[i] = sub(axis[i], mul(normal[i], along)); !t[i].Is(0) {
			only, count = i, count+1
		}
	}
	if count == 1 {
		t[only] = k(1)
		return t
	}
	return t.normalized()
}

// segment is a sphere or a capsule: a segment with a radius; a cylinder too. A plane's axis is its normal.
type segment struct {
	centre, axis vec // from the origin of the body's tree
	radius, half num
}

func (s *dynamics) segments(f *frames) []segment {
	out := make([]segment, len(s.Geoms))
	for g, geom := range s.Geoms {
		body := f.rot[geom.Body]
		out[g] = segment{centre: f.pos[geom.Body].add(body.times(at3(s.geomPos, g))),
			axis:   body.times(oriented(geom.Quat)[2]),
			radius: s.size[3*g]}
		if geom.Type == Capsule || geom.Type == Cylinder {
			out[g].half = s.size[3*g+1]
		}
	}
	return out
}

// within is the part of a place along the axis that is on the segment.
func (a segment) within(t num) num { return scalars.Clamp(neg(a.half), t, a.half) }

// mostParallel is the square of the sine below which MuJoCo 4 takes the axes of capsules for parallel.
const mostParallel = 1e-8

// touch is where two segments are nearest, of two capsules also a second place, or one that is far away: capsules that
// lie side by side touch at both ends of what they share (mjc_CapsuleCapsule of MuJoCo 4).
func (s *dynamics) touch(a, b segment) (all []spot) {
	one := a.nearest(b)
	if a.half.Is(0) || b.half.Is(0) || s.engine == 3 {
		return []spot{one}
	}
	cross := a.axis.cross(b.axis)
	both := scalars.When(less(cross.dot(cross), k(mostParallel)), func() (ends []num) {
		c, u, v := a.along(b)
		for _, side := range []float64{-1, 1} {
			x, y := mul(k(side), a.half), num{}
			x, y = a.clip(b, x, add(v, mul(c, x)), c, u)
			ends = append(ends, a.between(b, x, y).list()...)
		}
		return ends
	}, append(one.list(), spot{dist: k(far)}.list()...))
	for ; len(both) > 0; both = both[7:] {
		all = append(all, spot{vec(both[:3]), vec(both[3:6]), both[6]})
	}
	return all
}

// spot is a place half way between two geoms, the normal from the first to the second, and their distance.
type spot struct {
	point, normal vec
	dist          num
}

func (t spot) list() []num { return append(append(t.point[:], t.normal[:]...), t.dist) }

// nearest is where two segments are nearest, with MuJoCo's order of clipping (mjraw_CapsuleCapsule,
// mjraw_SphereCapsule).
func (a segment) nearest(b segment) spot {
	var x, y num // along the axes
	switch {
	case b.half.Is(0):
	case a.half.Is(0):
		y = b.within(b.axis.dot(a.centre.sub(b.centre)))
	default:
		c, u, v := a.along(b)
		det := sub(k(1), sq(c))
		parallel := less(abs(det), k(minVal))
		det = choose(parallel, k(1), det)
		x = choose(parallel, k(0), div(add(u, mul(c, v)), det))
		y = choose(parallel, v, div(add(v, mul(c, u)), det))
		clipped := a.within(x)
		y = choose(scalars.Eq(clipped, x), y, add(v, mul(c, clipped)))
		x, y = a.clip(b, clipped, y, c, u)
	}
	return a.between(b, x, y)
}

// along is the cosine between the axes of two segments, and where each axis is nearest to the centre of the other.
func (a segment) along(b segment) (c, u, v num) {
	way := a.centre.sub(b.centre)
	return a.axis.dot(b.axis), neg(a.axis.dot(way)), b.axis.dot(way)
}

// clip moves y onto the segment b, and x, if y moved, to where a is nearest then.
func (a segment) clip(b segment, x, y, c, u num) (num, num) {
	clipped := b.within(y)
	return choose(scalars.Eq(clipped, y), x, a.within(add(u, mul(c, clipped)))), clipped
}

// between is of the places x and y along two axes (mjraw_SphereSphere). If they are one the normal is across both axes.
func (a segment) between(b segment, x, y num) (t spot) {
	from, to := a.centre.add(a.axis.scale(x)), b.centre.add(b.axis.scale(y))
	away := to.sub(from)
	square := away.dot(away)
	length := sqrt(scalars.Max(square, k(1e-30)))
	t.normal = away.scale(div(k(1), length))
	t.normal = vec(scalars.When(less(square, k(1e-30)), func() []num {
		across := a.axis.cross(b.axis).normalized()
		return across[:]
	}, t.normal[:]))
	t.dist = sub(length, add(a.radius, b.radius))
	t.point = from.add(t.normal.scale(add(a.radius, mul(k(.5), t.dist))))
	return t
}
