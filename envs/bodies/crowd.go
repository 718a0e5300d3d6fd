package bodies

import (
	"slices"

	"xlarun/graph/scalars"
)

// far is a distance of geoms that do not touch.
const far = 1e10

// mostNear is how many contacts of a crowd are computed: those of its nearest pairs. 7 at once were seen.
const mostNear = 8

// crowd is many pairs of spheres and capsules of one tree whose contacts have no friction and one rule, such as
// Humanoid's 109. A member has few of these contacts at once, so rows are made for its nearest pairs only.
type crowd struct {
	pairs  [][2]int // geoms in their order
	geoms  []int    // of all pairs, in their order
	bodies []int    // of these
	rule   rule
	margin float64
}

// crowded are the pairs that have rows of their own, and the crowds.
func (s *dynamics) crowded() (alone []Pair, many []crowd) {
	type kind struct {
		root   int
		rule   rule
		margin float64
	}
	groups := map[kind][]Pair{}
	var order []kind
	kindOf := func(p Pair) (kind, bool) {
		a, b := s.ordered(p)
		g, h := s.Geoms[a], s.Geoms[b]
		root := s.root(g.Body)
		ok := g.Type != Plane && h.Type != Cylinder && condim(g, h) == 1 && root == s.root(h.Body) &&
			s.last[g.Body] >= 0 && s.last[h.Body] >= 0
		return kind{root, s.mixed(g, h), s.margin(g, h)}, ok
	}
	for _, p := range s.Pairs {
		if key, ok := kindOf(p); ok {
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], p)
		}
	}
	for _, p := range s.Pairs {
		if key, ok := kindOf(p); !ok || len(groups[key]) <= mostNear {
			alone = append(alone, p)
		}
	}
	for _, key := range order {
		if len(groups[key]) <= mostNear {
			continue
		}
		c := crowd{rule: key.rule, margin: key.margin}
		for _, p := range groups[key] {
			a, b := s.ordered(p)
			c.pairs = append(c.pairs, [2]int{a, b})
			c.geoms = append(c.geoms, a, b)
		}
		slices.Sort(c.geoms)
		c.geoms = slices.Compact(c.geoms)
		for _, g := range c.geoms {
			c.bodies = append(c.bodies, s.Geoms[g].Body)
		}
		many = append(many, c)
	}
	return alone, many
}

// root is the body of a tree below the world.
func (s *dynamics) root(b int) int {
	for b > 0 && s.Bodies[b].Parent > 0 {
		b = s.Bodies[b].Parent
	}
	return b
}

// nearest adds the contacts of a crowd's nearest pairs. Pairs whose spheres around both are apart are left out, and so
// are the rows of the later ranks, where none of the members has so many.
func (c *constraints) nearest(s *dynamics, f *frames, segments []segment, group crowd, rate []num) {
	// A pair's number is first*base + second for the numbers of its geoms. It is below base², and float32 has all whole
	// numbers below 2^24: so for up to 4,096 geoms.
	base := float64(len(s.Geoms))
	empty := []num{k(far), k(0)}            // distance and number of a pair
	ranks := slices.Repeat(empty, mostNear) // the nearest first
	for _, p := range group.pairs {
		a, b := segments[p[0]], segments[p[1]]
		way, reach := a.centre.sub(b.centre), sum(a.half, a.radius, b.half, b.radius, k(group.margin))
		dist := scalars.When(less(way.dot(way), mul(k(1.001), sq(reach))), func() []num {
			return []num{a.nearest(b).dist}
		}, empty[:1])[0]
		x := []num{dist, k(float64(p[0])*base + float64(p[1]))}
		ranks = scalars.When(less(dist, k(group.margin)), func() (out []num) {
			for y := range slices.Chunk(ranks, 2) {
				before := less(x[0], y[0])
				out, x = append(out, each(before, x, y)...), each(before, y, x)
			}
			return out
		}, ranks)
	}
	tree := s.Geoms[group.geoms[0]].Body
	for ; len(ranks) > 0; ranks = ranks[2:] {
		pos := sub(ranks[0], k(group.margin))
		if never(pos) {
			continue
		}
		number := ranks[1]
		otherwise := make([]num, 9+len(s.dofs))
		otherwise[8] = k(1)
		touches := less(pos, k(0))
		out := scalars.When(touches, func() []num {
			a, first, weight1, geom := group.pick(s, segments, number, base)
			b, second, weight2, _ := group.pick(s, segments, sub(number, mul(geom, k(base))), 1)
			t := a.nearest(b)
			row := make([]num, len(s.dofs))
			for d, dof := range s.dofs {
				moves := func(body num) num { // whether it is the dof's or a descendant
					in := scalars.And(scalars.Le(k(float64(dof.body)), body), less(body, k(float64(s.end[dof.body]))))
					return choose(in, k(1), k(0))
				}
				count := 0
				for _, body := range group.bodies {
					if s.isAbove(d, body) {
						count++
					}
				}
				if count > 0 && count < len(group.bodies) { // a dof that moves all of them, or none, does not count
					row[d] = mul(sub(moves(second), moves(first)), f.axes[d].dot(wrench(t.normal, t.point)))
				}
			}
			return append(append(append(t.normal[:], t.point[:]...), first, second, add(weight1, weight2)), row...)
		}, otherwise)
		row := out[9:]
		c.chains = append(c.chains, chain{row, vec(out[:3]), vec(out[3:6]), tree, out[6], out[7], touches})
		c.push(group.rule, pos, dot(row, rate), out[8], k(1))
	}
}

// pick finds a geom of a pair: the last one whose number times unit is not above number. With base as the unit it is
// the first geom of the pair with that number. With 1 it is the second one, if number is what is left. It returns the
// geom's segment, its body's number and inverse weight, and its own number.
func (c crowd) pick(s *dynamics, segments []segment, number num, unit float64) (x segment, body, weight, geom num) {
	for i, g := range c.geoms {
		y, owner := segments[g], c.bodies[i]
		if i == 0 {
			x, body, weight, geom = y, k(float64(owner)), s.bodyWeight[owner], k(float64(g))
			continue
		}
		match := scalars.Le(k(float64(g)*unit), number)
		geom = choose(match, k(float64(g)), geom)
		for j := range 3 {
			x.centre[j], x.axis[j] = choose(match, y.centre[j], x.centre[j]), choose(match, y.axis[j], x.axis[j])
		}
		x.radius, x.half = choose(match, y.radius, x.radius), choose(match, y.half, x.half)
		body, weight = choose(match, k(float64(owner)), body), choose(match, s.bodyWeight[owner], weight)
	}
	return x, body, weight, geom
}
