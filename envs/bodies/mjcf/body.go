package mjcf

import (
	"math"
	"slices"
	"strings"

	"xlarun/envs/bodies"
)

// contents reads a body's joints, geoms and sites, then its children: bodies are numbered depth first.
func (r *reader) contents(e *element, b int, childClass string) {
	if c, ok := e.attrs["childclass"]; ok {
		if _, known := r.byName[c]; !known {
			e.fail("childclass=%q is not in <default>", c)
		}
		childClass = c
	}
	r.lumps, r.inertial = append(r.lumps, nil), append(r.inertial, nil)
	for _, c := range e.children {
		switch c.name {
		case "joint", "freejoint":
			r.joint(c, b, childClass)
		case "inertial":
			if r.inertial[b] != nil {
				c.fail("its body has another: want one")
			}
			r.inertial[b] = c
		}
	}
	for _, c := range e.children {
		switch c.name {
		case "geom":
			r.geom(c, b, childClass)
		case "site":
			r.site(c, b, childClass)
		}
	}
	for _, c := range e.children {
		if c.name != "body" {
			continue
		}
		a := c.check()
		if len(r.model.Bodies) > maxBodies {
			c.fail("the model has more than %d bodies: want less", maxBodies)
		}
		child := bodies.Body{Name: a.text("name", ""), Parent: b, Quat: r.orientation(a), ComQuat: identity}
		a.numbers("pos", child.Pos[:], 3)
		n := len(r.model.Bodies)
		c.register(r.bodies, child.Name, n)
		r.model.Bodies = append(r.model.Bodies, child)
		r.origin = append(r.origin, c)
		r.contents(c, n, childClass)
	}
}

const maxBodies, maxGeoms = 500, 2000

// The defaults of solref and solimp, of joints, geoms and pairs.
var usualSolref, usualSolimp = [2]float64{0.02, 1}, [5]float64{0.9, 0.95, 0.001, 0.5, 2}

// register gives a name to a number.
func (e *element) register(names map[string]int, name string, n int) {
	if name == "" {
		return
	}
	if _, twice := names[name]; twice {
		e.fail("another %s has this name: want one of its own", e.name)
	}
	names[name] = n
}

func (r *reader) joint(e *element, b int, childClass string) {
	var a attributes
	if e.name == "freejoint" { // it has no defaults
		a = e.check()
	} else {
		a = r.attributes(e, "joint", childClass)
	}
	if b == 0 {
		e.fail("the world has no joints: put it into a <body>")
	}
	free := e.name == "freejoint" || a.text("type", "hinge") == "free"
	j := bodies.Joint{Name: a.text("name", ""), Body: b, Type: bodies.Free, Axis: [3]float64{0, 0, 1}}
	if !free {
		j.Type = bodies.JointType(a.word("type", "hinge", "free", "slide", "hinge"))
		a.numbers("pos", j.Pos[:], 3)
		a.numbers("axis", j.Axis[:], 3)
		j.Axis = a.direction("axis", j.Axis)
	}
	var stiffness, damping [3]float64
	a.numbers("stiffness", stiffness[:], 1)
	a.numbers("damping", damping[:], 1)
	if stiffness[1] != 0 || stiffness[2] != 0 || damping[1] != 0 || damping[2] != 0 {
		a.fail("stiffness and damping that change with position and speed are not supported: want one number each")
	}
	j.Stiffness, j.Damping, j.Armature = stiffness[0], damping[0], a.number("armature", 0)
	j.Ref, j.SpringRef, j.Margin = a.number("ref", 0), a.number("springref", 0), a.number("margin", 0)
	for name, x := range map[string]float64{"stiffness": j.Stiffness, "damping": j.Damping, "armature": j.Armature} {
		if x < 0 {
			a.fail("%s=%q: want at least 0", name, a.values[name])
		}
	}
	if free {
		j.Ref, j.SpringRef = 0, 0
	} else {
		j.Limited = a.limited("limited", "range", j.Range[:], r.autoLimits) && !r.noLimit
	}
	if r.degrees && j.Type == bodies.Hinge {
		for _, x := range []*float64{&j.Range[0], &j.Range[1], &j.Ref, &j.SpringRef} {
			*x *= math.Pi / 180
		}
	}
	if j.Limited {
		j.Solref, j.Solimp = usualSolref, usualSolimp
		a.numbers("solreflimit", j.Solref[:], 1)
		a.numbers("solimplimit", j.Solimp[:], 1)
	} else {
		j.Range, j.Margin = [2]float64{}, 0
	}
	e.register(r.joints, j.Name, len(r.model.Joints))
	r.model.Joints = append(r.model.Joints, j)
	r.from["joint"] = append(r.from["joint"], e)
}

// limited says whether a range holds: as an attribute says, or if the range is given.
func (a attributes) limited(flag, name string, to []float64, auto bool) bool {
	given := a.numbers(name, to, 2) > 0
	on := false
	switch a.word(flag, "auto", "auto", "true", "false") {
	case "true":
		on = true
	case "auto":
		if on = given && to[0] < to[1]; given && !auto {
			a.fail(`%s without %s: want %s="true" or "false", as <compiler> has autolimits="false"`, name, flag, flag)
		}
	}
	if on && to[0] >= to[1] {
		a.fail("%s=%q: want two numbers, the larger one last", name, a.text(name, ""))
	}
	return on
}

// geom reads a shape and what it weighs. A shape that touches nothing and is not computed here only weighs.
func (r *reader) geom(e *element, b int, childClass string) {
	a := r.attributes(e, "geom", childClass)
	kind := a.word("type", "sphere", strings.Fields("plane sphere capsule cylinder box ellipsoid mesh hfield sdf")...)
	g := bodies.Geom{Name: a.text("name", ""), Type: bodies.GeomType(kind), Body: b, Quat: r.orientation(a),
		Friction: [3]float64{1, 0.005, 0.0001}, Solref: usualSolref, Solimp: usualSolimp,
		Condim: a.integer("condim", 3), Priority: a.integer("priority", 0), Margin: a.number("margin", 0),
		Solmix: a.number("solmix", 1)}
	a.numbers("pos", g.Pos[:], 3)
	a.numbers("friction", g.Friction[:], 1)
	a.numbers("solref", g.Solref[:], 1)
	a.numbers("solimp", g.Solimp[:], 1)
	given := a.numbers("size", g.Size[:], 1)
	if a.has("fromto") {
		given = max(given, r.ends(a, &g))
	}
	if want := map[string]int{"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}[kind]; given < want {
		a.fail("it has %d sizes: a %s wants %d, above 0", given, kind, want)
	} else {
		for _, s := range g.Size[:want] {
			if s <= 0 {
				a.fail("size=%q: want numbers above 0", a.values["size"])
			}
		}
		clear(g.Size[want:])
	}
	if kind == "plane" {
		g.Size = [3]float64{}
	}
	con, aff := a.integer("contype", 1), a.integer("conaffinity", 1)
	r.weigh(a, g, b)
	switch kind {
	case "box", "ellipsoid", "mesh", "hfield", "sdf":
		if (con|aff) != 0 && !r.noContact {
			a.fail(`contacts of type=%q are not supported: want plane, sphere, capsule or cylinder, or `+
				`contype="0" and `+
				`conaffinity="0"`, kind)
		}
		return
	}
	if len(r.model.Geoms) > maxGeoms {
		e.fail("the model has more than %d geoms: want less", maxGeoms)
	}
	e.register(r.geoms, g.Name, len(r.model.Geoms))
	r.model.Geoms = append(r.model.Geoms, g)
	r.from["geom"] = append(r.from["geom"], e)
	r.contype, r.conaffinity = append(r.contype, con), append(r.conaffinity, aff)
}

// ends places a shape between two points, with its axis from the second to the first, however else it is turned. It
// says how many sizes are known.
func (r *reader) ends(a attributes, g *bodies.Geom) int {
	if g.Pos != [3]float64{} {
		a.fail("it has fromto and pos=%q: want one", a.values["pos"])
	}
	var p [6]float64
	a.numbers("fromto", p[:], 6)
	v := [3]float64{p[0] - p[3], p[1] - p[4], p[2] - p[5]}
	length := math.Sqrt(dot(v, v))
	if length < 1e-15 {
		a.fail("fromto=%q: the two points are one", a.values["fromto"])
	}
	g.Pos = [3]float64{(p[0] + p[3]) / 2, (p[1] + p[4]) / 2, (p[2] + p[5]) / 2}
	g.Quat = fromZ([3]float64{v[0] / length, v[1] / length, v[2] / length})
	switch g.Type {
	case bodies.Capsule, bodies.Cylinder:
		g.Size[1] = length / 2
		return 2
	case "box", "ellipsoid":
		g.Size[1], g.Size[2] = g.Size[0], length/2
		return 3
	}
	a.fail("fromto of type=%q: want a capsule, a cylinder, a box or an ellipsoid", g.Type)
	return 0
}

func (r *reader) site(e *element, b int, childClass string) {
	a := r.attributes(e, "site", childClass)
	s := bodies.Site{Name: a.text("name", ""), Body: b}
	a.numbers("pos", s.Pos[:], 3)
	if a.has("fromto") {
		var p [6]float64
		a.numbers("fromto", p[:], 6)
		s.Pos = [3]float64{(p[0] + p[3]) / 2, (p[1] + p[4]) / 2, (p[2] + p[5]) / 2}
	}
	r.model.Sites = append(r.model.Sites, s)
}

// actuators reads <actuator>.
func (r *reader) actuators() {
	for _, section := range r.root.all("actuator") {
		section.check()
		for _, e := range section.children {
			a := r.attributes(e, e.name, "")
			u := bodies.Actuator{Name: a.text("name", ""), Gear: 1, Gain: 1}
			name := a.text("joint", "")
			j, ok := r.joints[name]
			if !ok {
				e.fail("joint=%q: no joint has this name; other ways to act are not supported", name)
			}
			u.Joint = j
			var gear [6]float64
			gear[0] = 1
			a.numbers("gear", gear[:], 1)
			u.Gear = gear[0]
			u.ControlLimited = a.limited("ctrllimited", "ctrlrange", u.ControlRange[:], r.autoLimits)
			u.ForceLimited = a.limited("forcelimited", "forcerange", u.ForceRange[:], r.autoLimits)
			if !u.ControlLimited {
				u.ControlRange = [2]float64{}
			}
			if !u.ForceLimited {
				u.ForceRange = [2]float64{}
			}
			last, affine := "", false
			for _, d := range append(slices.Clip(r.class(e, "").drives), e) {
				last, affine = d.name, d.force(&u, last, affine)
			}
			if !affine {
				u.Bias = [3]float64{}
			}
			r.model.Actuators = append(r.model.Actuators, u)
			r.from["actuator"] = append(r.from["actuator"], e)
		}
	}
}

// force sets what an actuator says of gain and bias over what the last one before it in its classes said, and says
// whether there is a bias. <general> shares its numbers with the others, which do not share theirs: a position's kp is
// the gain that a <general> has by default, and no velocity's kv.
func (e *element) force(u *bodies.Actuator, last string, affine bool) bool {
	a := attributes{e, e.attrs}
	if e.name == "motor" || e.name != "general" && last != "general" && last != e.name {
		u.Gain, u.Bias, affine = 1, [3]float64{}, false
	}
	switch e.name {
	case "position":
		u.Gain = a.number("kp", u.Gain)
		u.Bias = [3]float64{0, -u.Gain, -a.number("kv", -u.Bias[2])}
		affine = true
	case "velocity":
		u.Gain = a.number("kv", u.Gain)
		u.Bias, affine = [3]float64{0, 0, -u.Gain}, true
	case "general":
		a.word("gaintype", "fixed", "fixed")
		var gain, bias [10]float64
		gain[0] = u.Gain
		copy(bias[:], u.Bias[:])
		a.numbers("gainprm", gain[:], 1)
		a.numbers("biasprm", bias[:], 1)
		u.Gain, u.Bias = gain[0], [3]float64(bias[:3])
		affine = a.word("biastype", pick(affine, "affine", "none"), "none", "affine") == "affine"
	}
	return affine
}

// own refuses a <pair> whose contact is not that of its geoms: what it does not say is MuJoCo's default.
func (r *reader) own(a attributes, geoms [2]int) {
	condim, margin, friction := a.integer("condim", 3), a.number("margin", 0), [5]float64{1, 1, 0.005, 0.0001, 0.0001}
	solref, solimp := usualSolref, usualSolimp
	if a.numbers("friction", friction[:], 1) == 1 {
		friction[1] = friction[0]
	}
	a.numbers("solref", solref[:], 1)
	a.numbers("solimp", solimp[:], 1)
	for _, n := range geoms {
		g := r.model.Geoms[n]
		if slide := g.Friction[0]; g.Condim != condim || g.Margin != 0 || margin != 0 || g.Solref != solref ||
			g.Solimp != solimp || condim > 1 && (friction[0] != slide || friction[1] != slide) {
			a.fail("its contact has condim %d, friction %v, solref %v, solimp %v and margin %v, and not those of geom "+
				"%q: want the same for the pair and its geoms, and margin 0", condim, friction[:2], solref, solimp,
				margin, g.Name)
		}
	}
}

// contacts are the pairs of geoms that may touch: those of <contact>, and by MuJoCo's filters (documentation, chapter
// "Computation", Collision detection).
func (r *reader) contacts() {
	if r.noContact {
		return
	}
	m := r.model
	weld := make([]int, len(m.Bodies)) // the body that carries a body without joints
	for b := 1; b < len(m.Bodies); b++ {
		if weld[b] = b; !r.moves[b] {
			weld[b] = weld[m.Bodies[b].Parent]
		}
	}
	excluded, taken := map[[2]int]bool{}, map[[2]int]bool{}
	for _, section := range r.root.all("contact") {
		section.check()
		for _, e := range section.children {
			names, numbers := [2]string{"geom1", "geom2"}, r.geoms
			if e.name == "exclude" {
				names, numbers = [2]string{"body1", "body2"}, r.bodies
			}
			a := r.attributes(e, e.name, "")
			var two [2]int
			for i, n := range names {
				number, ok := numbers[a.text(n, "")]
				if !ok {
					e.fail("%s=%q: no %s has this name", n, a.text(n, ""), strings.TrimRight(n, "12"))
				}
				two[i] = number
			}
			if two[0] > two[1] {
				two[0], two[1] = two[1], two[0]
			}
			if e.name == "exclude" {
				excluded[two] = true
			} else if !taken[two] {
				taken[two] = true
				r.own(a, two)
				m.Pairs = append(m.Pairs, bodies.Pair{Geoms: two})
			}
		}
	}
	for a, g := range m.Geoms {
		for b := a + 1; b < len(m.Geoms); b++ {
			h := m.Geoms[b]
			wa, wb := weld[g.Body], weld[h.Body]
			pa, pb := weld[m.Bodies[wa].Parent], weld[m.Bodies[wb].Parent]
			related := !r.siblings && wa != 0 && wb != 0 && (wa == pb || wb == pa)
			meet := r.contype[a]&r.conaffinity[b] != 0 || r.contype[b]&r.conaffinity[a] != 0
			if wa != wb && !related && meet && !taken[[2]int{a, b}] &&
				!excluded[[2]int{min(g.Body, h.Body), max(g.Body, h.Body)}] {
				m.Pairs = append(m.Pairs, bodies.Pair{Geoms: [2]int{a, b}})
			}
		}
	}
}
