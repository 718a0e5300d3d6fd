package settings

import (
	"maps"
	"reflect"
	"slices"

	"xlarun/graph"
)

// Number is a setting that is an input of the compiled program: changing it compiles nothing.
//
// With the tag each it may have several values: a range, "1e-4..1e-2", or a list, "1e-4,1e-3".
type Number struct {
	Value  float64
	Each   string // the text of a range or a list; "" for one Value
	traced *graph.Array
}

// Num returns a Number with a value.
func Num(value float64) Number { return Number{Value: value} }

// Array returns the number as a float32 scalar: the program's input after Bind, else a constant.
//
//go:noinline
func (n Number) Array() *graph.Array {
	if n.traced != nil {
		return n.traced
	}
	return graph.Of(float32(n.Value))
}

// Number returns the setting as a Number. ok is false for other types.
func (f Field) Number() (n Number, ok bool) {
	if !f.Traced {
		return n, false
	}
	return f.value.Interface().(Number), true
}

// Several returns the setting as a Number if it may have several values.
func (f Field) Several() (n Number, ok bool) {
	if _, ok = f.tag.Lookup("each"); !ok || !f.Traced {
		return Number{}, false
	}
	return f.value.Interface().(Number), true
}

// Inputs returns the Numbers of the struct that ptr points to, float32 scalars by name with a prefix.
func Inputs(ptr any, prefix string) map[string]*graph.Array {
	in := map[string]*graph.Array{}
	for _, f := range Fields(ptr) {
		if f.Traced {
			in[prefix+f.Name] = graph.Of(float32(f.value.Interface().(Number).Value))
		}
	}
	return in
}

// Bind returns a copy of v, a pointer to a struct of settings or an interface with one, whose Numbers return the inputs
// of their names as Array. Numbers without an input stay constants.
func Bind[T any](v T, in map[string]*graph.Array, prefix string) T {
	old := reflect.ValueOf(v)
	if old.Kind() != reflect.Pointer || old.Elem().Kind() != reflect.Struct || len(in) == 0 {
		return v
	}
	bound := reflect.New(old.Elem().Type())
	bound.Elem().Set(old.Elem())
	for _, f := range Fields(bound.Interface()) {
		if a, ok := in[prefix+f.Name]; ok && f.Traced {
			n := f.value.Interface().(Number)
			n.traced = a
			f.value.Set(reflect.ValueOf(n))
		}
	}
	return bound.Interface().(T)
}

// Values are settings by name: texts as on a command line, or values of their types.
type Values map[string]any

// With returns a copy with one more value.
func (v Values) With(name string, value any) Values {
	w := maps.Clone(v)
	if w == nil {
		w = Values{}
	}
	w[name] = value
	return w
}

// Under returns the values whose names begin with a prefix, without it.
func (v Values) Under(prefix string) Values {
	w := Values{}
	for name, value := range v {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			w[name[len(prefix):]] = value
		}
	}
	return w
}

// Apply sets the settings of the struct that ptr points to and checks their ranges. In errors, whose names the struct,
// and names of settings have the prefix.
func (v Values) Apply(ptr any, whose, prefix string) error { return v.apply(ptr, whose, prefix, false) }

// ApplyEach is Apply, except that every Number may have several values.
func (v Values) ApplyEach(ptr any, whose, prefix string) error {
	return v.apply(ptr, whose, prefix, true)
}

func (v Values) apply(ptr any, whose, prefix string, each bool) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		f, ok := Lookup(ptr, name)
		if !ok {
			return unknown(ptr, name, whose, prefix)
		}
		if text, ok := v[name].(string); ok && each && f.Traced {
			if n, several := parseEach(text); several && n.Each != formatFloat(n.Value) {
				f.value.Set(reflect.ValueOf(n))
				continue
			}
		}
		if err := f.Set(v[name]); err != nil {
			return prefixed(err, prefix)
		}
	}
	return prefixed(Check(ptr), prefix)
}
