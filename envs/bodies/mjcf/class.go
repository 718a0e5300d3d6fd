package mjcf

import (
	"maps"
	"slices"
	"strings"
)

// class is a <default>: attributes by the kind of element, with those of the class around it.
type class struct {
	attrs  map[string]map[string]string
	drives []*element // actuators, in their order
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
		r.define(e, r.byName[""])
	}
}

// define reads a class, and then those in it, which begin as it is by then.
func (r *reader) define(e *element, c *class) {
	for _, child := range e.children {
		switch {
		case child.name == "default" || child.name == "equality" || child.name == "mesh" ||
			slices.Contains(skipped, child.name):
			continue
		case child.name == "tendon": // the defaults of <fixed>
			child.name = "fixed"
		}
		child.check()
		k := kind(child.name)
		if k == "actuator" {
			c.drives = append(c.drives, child)
		}
		if c.attrs[k] == nil {
			c.attrs[k] = map[string]string{}
		}
		overlay(c.attrs[k], child.attrs)
	}
	for _, child := range e.all("default") {
		name := child.check().text("class", "")
		if _, twice := r.byName[name]; twice {
			child.fail("class=%q: want a name that no other class has", name)
		}
		inner := &class{map[string]map[string]string{}, slices.Clone(c.drives)}
		for k, attrs := range c.attrs {
			inner.attrs[k] = maps.Clone(attrs)
		}
		r.byName[name] = inner
		r.define(child, inner)
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
	for name, value := range from {
		if slices.Contains(partial, name) {
			fields, before := strings.Fields(value), strings.Fields(to[name])
			if len(before) > len(fields) {
				value = strings.Join(append(fields, before[len(fields):]...), " ")
			}
		}
		to[name] = value
	}
}

// partial are the attributes of which an element may give the first numbers, and keeps the others of its class.
var partial = strings.Fields("size friction solref solimp solreflimit solimplimit gear")

// class is an element's class, or the one that its body names.
func (r *reader) class(e *element, childClass string) *class {
	name := childClass
	if c, ok := e.attrs["class"]; ok {
		name = c
	}
	c, ok := r.byName[name]
	if !ok {
		e.fail("class %q is not in <default>", name)
	}
	return c
}

// attributes are an element's with those of its class, or of the class that its body names.
func (r *reader) attributes(e *element, kindName, childClass string) attributes {
	e.check()
	values := map[string]string{}
	maps.Copy(values, r.class(e, childClass).attrs[kind(kindName)])
	s := elements[e.name] // a class is shared by elements with different attributes: a motor has no kp
	maps.DeleteFunc(values, func(name, _ string) bool {
		_, ok := s.only[name]
		return !ok && !slices.Contains(s.read, name) && !slices.Contains(s.skip, name)
	})
	overlay(values, e.attrs)
	return attributes{e, values}
}
