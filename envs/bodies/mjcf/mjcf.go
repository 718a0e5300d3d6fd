// Package mjcf reads models of rigid bodies from MJCF, MuJoCo's XML, into bodies.Model, as MuJoCo's compiler does
// (documentation, chapters "Modeling" and "XML Reference"). What changes the dynamics and is not computed is an error
// with file, line, element and attribute. What is only seen or measured is skipped: assets, lights, cameras, colours,
// sensors, keyframes.
package mjcf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"xlarun/envs/bodies"
)

// Read returns the model in a file. Paths of files that include others are relative to their own folder.
func Read(files fs.FS, name string) (m *bodies.Model, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			m, err = nil, r.error
		default:
			panic(r)
		}
	}()
	root := parse(files, name, map[string]bool{})
	if root.name != "mujoco" {
		root.fail("the document is not a model: want <mujoco>")
	}
	world := bodies.Body{Name: "world", Quat: identity, ComQuat: identity}
	r := &reader{root: root, model: &bodies.Model{Bodies: []bodies.Body{world}},
		bodies: map[string]int{"world": 0}, joints: map[string]int{}, geoms: map[string]int{},
		moves: map[int]bool{}, from: map[string][]*element{}}
	r.settings()
	r.classes()
	for _, world := range root.all("worldbody") {
		world.check()
		r.contents(world, 0, "")
	}
	for _, j := range r.model.Joints {
		r.moves[j.Body] = true
	}
	r.masses()
	r.contacts()
	r.actuators()
	r.rest()
	if err := r.model.Check(); err != nil {
		var refused *bodies.Refusal
		if errors.As(err, &refused) {
			if e := r.where(refused.Element, refused.Number); e != nil {
				e.fail("%s", refused.Reason)
			}
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r.model, nil
}

// where is the element that a part of the model came from, or nil.
func (r *reader) where(kind string, n int) *element {
	list := r.from[kind]
	switch {
	case kind == "option":
		list, n = r.root.all("option"), max(0, len(r.root.all("option"))-1)
	case kind == "body":
		list, n = r.origin, n-1
	}
	if n < 0 || n >= len(list) {
		return nil
	}
	return list[n]
}

// reader is a model on its way from elements to numbers.
type reader struct {
	root *element
	compiler
	model  *bodies.Model
	byName map[string]*class // classes of defaults; "" is the outermost

	bodies, joints, geoms map[string]int        // numbers by name
	origin                []*element            // of each body but the world
	from                  map[string][]*element // of joints, geoms and actuators
	inertial              []*element            // of each body, or nil
	lumps                 [][]lump              // of each body: what its geoms weigh
	contype, conaffinity  []int                 // of each geom
	moves                 map[int]bool          // bodies with joints
	noContact             bool
	noLimit               bool
	siblings              bool // a body's geoms may touch its parent's
}

// compiler are the attributes of <compiler> that change what numbers mean.
type compiler struct {
	degrees, autoLimits            bool
	eulerOrder                     string
	fromGeoms                      string // auto, true, false
	groups                         [2]float64
	totalMass, leastMass, leastInt float64
	balance                        bool
}

// settings reads <compiler> and <option>.
func (r *reader) settings() {
	r.compiler = compiler{degrees: true, autoLimits: true, eulerOrder: "xyz", fromGeoms: "auto",
		groups: [2]float64{0, 5}}
	for _, e := range r.root.all("compiler") {
		a := e.check()
		r.degrees = a.word("angle", pick(r.degrees, "degree", "radian"), "degree", "radian") == "degree"
		r.autoLimits = a.flag("autolimits", r.autoLimits)
		r.fromGeoms = a.word("inertiafromgeom", r.fromGeoms, "auto", "true", "false")
		r.balance = a.flag("balanceinertia", r.balance)
		r.totalMass = a.number("settotalmass", r.totalMass)
		r.leastMass, r.leastInt = a.number("boundmass", r.leastMass), a.number("boundinertia", r.leastInt)
		a.numbers("inertiagrouprange", r.groups[:], 2)
		if r.eulerOrder = a.text("eulerseq", r.eulerOrder); len(strings.Trim(r.eulerOrder, "xyzXYZ")) > 0 ||
			len(r.eulerOrder) != 3 {
			e.fail("eulerseq=%q: want three of x, y, z, X, Y, Z", r.eulerOrder)
		}
	}
	m := r.model
	m.Timestep, m.Integrator, m.Gravity, m.Impratio = 0.002, bodies.Euler, [3]float64{0, 0, -9.81}, 1
	for _, e := range r.root.all("option") {
		a := e.check()
		m.Timestep, m.Impratio = a.number("timestep", m.Timestep), a.number("impratio", m.Impratio)
		m.Density, m.Viscosity = a.number("density", m.Density), a.number("viscosity", m.Viscosity)
		m.Integrator = bodies.Integrator(a.word("integrator", string(m.Integrator), "Euler", "RK4"))
		a.numbers("gravity", m.Gravity[:], 3)
		for _, f := range e.children {
			a := f.check()
			if !a.enabled("gravity") {
				m.Gravity = [3]float64{}
			}
			all := a.enabled("constraint")
			r.noContact = r.noContact || !all || !a.enabled("contact")
			r.noLimit = r.noLimit || !all || !a.enabled("limit")
			r.siblings = r.siblings || !a.enabled("filterparent")
		}
	}
}

// rest refuses what the other sections hold: constraints, and tendons that pull.
func (r *reader) rest() {
	for _, e := range r.root.children {
		switch e.name {
		case "equality", "deformable", "extension":
			if len(e.children) > 0 {
				e.children[0].fail("<%s> is not supported: leave it out", e.name)
			}
		case "tendon":
			for _, t := range e.children {
				r.attributes(t, t.name, "")
				for _, j := range t.children {
					for _, name := range slices.Sorted(maps.Keys(j.attrs)) {
						if name != "joint" && name != "coef" {
							j.fail("%s=%q is not supported: leave it out", name, j.attrs[name])
						}
					}
					if _, ok := r.joints[j.attrs["joint"]]; !ok {
						j.fail("joint=%q: no joint has this name", j.attrs["joint"])
					}
				}
			}
		case "default", "worldbody", "contact", "actuator", "compiler", "option":
		default:
			if !slices.Contains(skipped, e.name) {
				e.fail("<%s> is not an element of <mujoco>", e.name)
			}
		}
	}
}

// failure is an error on its way to Read.
type failure struct{ error }

func pick[T any](c bool, yes, no T) T {
	if c {
		return yes
	}
	return no
}

// finite says whether a number can be computed with.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
