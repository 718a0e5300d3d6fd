package mjcf

import (
	"maps"
	"slices"
)

// class is a <default>: attributes by the kind of element, beyond those of the class around it.
type class struct {
	above *class
	attrs map[string]map[string]string
}

// kinds are the elements that share defaults under another name.
var kinds = map[string]string{"motor": "actuator", "position": "actuator", "velocity": "actuator",
	"general": "actuator", "fixed": "tendon"}

func kind(name string) string {
	if k, ok := kinds[name]; ok {
		return k
	}
	return name
}

// classes reads <default>.
func (r *reader) classes() {
	r.byName = map[string]*class{"": {attrs: map[string]map[string]string{}}}
	for _, e := range r.root.all("default") {
		r.byName[e.check().text("class", "main")] = r.byName[""]
		r.class(e, r.byName[""])
	}
}

func (r *reader) class(e *element, c *class) {
	for _, child := range e.children {
		if child.name == "default" {
			name := child.check().text("class", "")
			if _, twice := r.byName[name]; twice {
				child.fail("class=%q: want a name that no other class has", name)
			}
			inner := &class{c, map[string]map[string]string{}}
			r.byName[name] = inner
			r.class(child, inner)
			continue
		}
		switch {
		case child.name == "tendon": // the defaults of <fixed>
			child.name = "fixed"
		case child.name == "equality" || child.name == "mesh" || slices.Contains(skipped, child.name):
			continue
		}
		child.check()
		k := kind(child.name)
		if c.attrs[k] == nil {
			c.attrs[k] = map[string]string{}
		}
		overlay(c.attrs[k], child.attrs)
	}
}

// orientations are the attributes of which one says how something is turned.
var orientations = []string{"quat", "axisangle", "xyaxes", "zaxis", "euler"}

// overlay sets attributes over those of an outer class.
func overlay(to, from map[string]string) {
	for _, o := range orientations {
		if _, ok := from[o]; ok {
			for _, other := range orientations {
				delete(to, other)
			}
		}
	}
	maps.Copy(to, from)
}

// attributes are an element's with those of its class, or of the class that its body names.
func (r *reader) attributes(e *element, kindName, childClass string) attributes {
	e.check()
	name := childClass
	if c, ok := e.attrs["class"]; ok {
		name = c
	}
	c, ok := r.byName[name]
	if !ok {
		e.fail("class %q is not in <default>", name)
	}
	var chain []*class
	for ; c != nil; c = c.above {
		chain = append(chain, c)
	}
	values := map[string]string{}
	for i := len(chain) - 1; i >= 0; i-- {
		overlay(values, chain[i].attrs[kind(kindName)])
	}
	s := elements[e.name] // a class is shared by elements with different attributes: a motor has no kp
	maps.DeleteFunc(values, func(name, _ string) bool {
		_, ok := s.only[name]
		return !ok && !slices.Contains(s.read, name) && !slices.Contains(s.skip, name)
	})
	overlay(values, e.attrs)
	return attributes{e, values}
}
