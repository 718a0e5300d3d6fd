package mjcf

import (
	"math"
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

const maxBodies = 500

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
	j.Limited = a.limited("limited", "range", j.Range[:], r.autoLimits) && !r.noLimit
	if free {
		j.Limited = false
		j.Ref, j.SpringRef = 0, 0
	}
	if r.degrees && j.Type == bodies.Hinge {
		for _, x := range []*float64{&j.Range[0], &j.Range[1], &j.Ref, &j.SpringRef} {
			*x *= math.Pi / 180
		}
	}
	if j.Limited {
		j.Solref, j.Solimp = [2]float64{0.02, 1}, [5]float64{0.9, 0.95, 0.001, 0.5, 2}
		a.numbers("solreflimit", j.Solref[:], 1)
		a.numbers("solimplimit", j.Solimp[:], 1)
	} else {
		j.Range, j.Margin = [2]float64{}, 0
	}
	e.register(r.joints, j.Name, len(r.model.Joints))
	r.model.Joints = append(r.model.Joints, j)
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
			a.fail("%s without %s: want %s=\"true\" or \"false\", as <compiler> has autolimits=\"false\"", name, flag, flag)
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
	kind := a.word("type", "sphere", "plane", "sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh", "hfield", "sdf")
	g := bodies.Geom{Name: a.text("name", ""), Type: bodies.GeomType(kind), Body: b, Quat: r.orientation(a),
		Friction: [3]float64{1, 0.005, 0.0001}, Solref: [2]float64{0.02, 1}, Solimp: [5]float64{0.9, 0.95, 0.001, 0.5, 2},
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
			a.fail("contacts of type=%q are not supported: want plane, sphere, capsule or cylinder, or contype=\"0\" and "+
				"conaffinity=\"0\"", kind)
		}
		return
	}
	e.register(r.geoms, g.Name, len(r.model.Geoms))
	r.model.Geoms = append(r.model.Geoms, g)
	r.solid, r.contype, r.conaffinity = append(r.solid, e), append(r.contype, con), append(r.conaffinity, aff)
}

// ends places a shape between two points, with its axis from the second to the first. It says how many sizes are known.
func (r *reader) ends(a attributes, g *bodies.Geom) int {
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
			switch e.name {
			case "position":
				kp, kv := a.number("kp", 1), a.number("kv", 0)
				u.Gain, u.Bias = kp, [3]float64{0, -kp, -kv}
			case "velocity":
				kv := a.number("kv", 1)
				u.Gain, u.Bias = kv, [3]float64{0, 0, -kv}
			case "general":
				a.word("gaintype", "fixed", "fixed")
				var gain, bias [10]float64
				gain[0] = 1
				a.numbers("gainprm", gain[:], 1)
				u.Gain = gain[0]
				if a.word("biastype", "none", "none", "affine") == "affine" {
					a.numbers("biasprm", bias[:], 1)
					u.Bias = [3]float64(bias[:3])
				}
			}
			r.model.Actuators = append(r.model.Actuators, u)
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
	moves := map[int]bool{}
	for _, j := range m.Joints {
		moves[j.Body] = true
	}
	for b := 1; b < len(m.Bodies); b++ {
		if weld[b] = b; !moves[b] {
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
			a := e.check()
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
