package graph

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
)

// A tree is any Go value whose leaves are *Array: a struct (exported fields, in order), slice, array, map (sorted by
// key), pointer to a struct, interface holding one of these, nested in any way, or an *Array itself. Other values
// inside of it (numbers, strings, functions) are static: they belong to the structure, not to the data. Numbers and
// strings count even in fields that are not exported.
//
// A nil leaf is a mistake, unless its field is tagged `tree:"optional"` (a layer's bias): then it is no leaf.
// The leaves of a field tagged `tree:"inline"` are named as if they stood in the struct around it.

// None is the empty tree: no outputs, no inputs, no carry.
type None struct{}

// Tree is the structure of a tree value: which leaves it has, what stands around them.
type Tree struct {
	example reflect.Value
	paths   []string
	key     string
}

var arrayType = reflect.TypeFor[*Array]()

// Flatten lists v's leaves in a fixed order and gives the structure that Unflatten needs to put others in their place.
// Nil leaves are an error of the caller: they are reported with their path.
func Flatten(v any) ([]*Array, *Tree) {
	t := &Tree{example: reflect.ValueOf(v)}
	var leaves []*Array
	w := walker{leaf: func(path string, leaf *Array) {
		leaves = append(leaves, leaf)
		t.paths = append(t.paths, path)
	}}
	w.walk(t.example, "")
	t.key = w.key.String()
	return leaves, t
}

// Leaves lists v's leaves in order.
func Leaves(v any) []*Array {
	leaves, _ := Flatten(v)
	return leaves
}

// TreeBytes returns the bytes of a tree's arrays; 1<<62, more than any memory, where the sum is larger.
func TreeBytes(v any) int64 {
	const most = 1 << 62
	sum := int64(0)
	for _, leaf := range Leaves(v) {
		if !leaf.shape.countable() || int64(leaf.shape.Bytes()) > most-sum {
			return most
		}
		sum += int64(leaf.shape.Bytes())
	}
	return sum
}

// Len is the number of leaves.
func (t *Tree) Len() int { return len(t.paths) }

// Path names leaf i: ".Hidden.W", "[2]", ".Params[\"w1\"]".
func (t *Tree) Path(i int) string {
	if t.paths[i] == "" {
		return "value"
	}
	return t.paths[i]
}

// Key identifies the structure, static values included.
func (t *Tree) Key() string { return t.key }

// Unflatten makes a value of the same structure with the given leaves.
func (t *Tree) Unflatten(leaves []*Array) any {
	if len(leaves) != len(t.paths) {
		throw("Unflatten", "got %d leaves for a tree of %d", len(leaves), len(t.paths))
	}
	i := 0
	v := rebuild(t.example, func() *Array { i++; return leaves[i-1] })
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

func unflattenAs[T any](t *Tree, leaves []*Array) T { return as[T](t.Unflatten(leaves)) }

// as is v as a T. A nil is the T of an empty tree, whose type is an interface.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// MapTree applies f to every leaf of a tree.
func MapTree[T any](f func(*Array) *Array, v T) T { return as[T](mapTree(f, v)) }

// mapTree is MapTree for trees of any type. It and mapTree2 are compiled once, and not for each type.
func mapTree(f func(*Array) *Array, v any) any {
	leaves, t := Flatten(v)
	out := make([]*Array, len(leaves))
	for i, l := range leaves {
		out[i] = f(l)
	}
	return t.Unflatten(out)
}

// MapTree2 applies f to the leaves of two trees of the same structure.
func MapTree2[T any](f func(a, b *Array) *Array, v, w T) T { return as[T](mapTree2(f, v, w)) }

func mapTree2(f func(a, b *Array) *Array, v, w any) any {
	a, t := Flatten(v)
	b, u := Flatten(w)
	mustMatch("MapTree2", "first", t, "second", u)
	out := make([]*Array, len(a))
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return t.Unflatten(out)
}

// mustMatch throws unless two trees have the same leaves in the same places, and the same static values.
func mustMatch(op, what string, t *Tree, other string, u *Tree) {
	if d := t.Difference(what, u, other); d != "" {
		throw(op, "the %s and the %s differ in structure: %s", what, other, d)
	}
}

// Difference says in which leaves and static values two trees differ; "" if in none, whatever their types. what and
// other name the trees.
func (t *Tree) Difference(what string, u *Tree, other string) string {
	if t.key == u.key {
		return ""
	}
	var diff []string
	only := func(in, out []string, name string) {
		for _, p := range in {
			if !slices.Contains(out, p) {
				diff = append(diff, fmt.Sprintf("%s only in the %s", orValue(p), name))
			}
		}
	}
	only(t.paths, u.paths, what)
	only(u.paths, t.paths, other)
	paths, values := t.statics()
	otherPaths, otherValues := u.statics()
	if len(diff) == 0 {
		only(paths, otherPaths, what)
		only(otherPaths, paths, other)
	}
	if len(diff) > 0 {
		return strings.Join(diff, "; ")
	}
	for i, p := range paths { // trees of other types may have them in another order
		if now := otherValues[slices.Index(otherPaths, p)]; values[i] != now {
			return fmt.Sprintf("%s is %s in the %s and %s in the %s, and a Go value keeps what it is when a function "+
				"is traced: make it an array, as graph.Scalar does", orValue(p), values[i], what, now, other)
		}
	}
	for _, tree := range []*Tree{t, u} {
		if _, now := Flatten(tree.value()); now.key != tree.key {
			return "a Go value was changed in place, and a program keeps what it was: make it an array, as " +
				"graph.Scalar does, or change a copy"
		}
	}
	return ""
}

func (t *Tree) value() any {
	if !t.example.IsValid() {
		return nil
	}
	return t.example.Interface()
}

// statics lists the static values by their paths, as text.
func (t *Tree) statics() (paths, values []string) {
	w := walker{leaf: func(string, *Array) {}, static: func(path, text string) {
		paths, values = append(paths, path), append(values, text)
	}}
	w.walk(t.example, "")
	return paths, values
}

func orValue(path string) string {
	if path == "" {
		return "value"
	}
	return path
}

// walker goes through a tree in order. It calls leaf for the leaves and static, unless it is nil, for the static
// values, and writes the structure's key.
type walker struct {
	leaf   func(path string, leaf *Array)
	static func(path, text string)
	key    strings.Builder
}

// text adds a static value.
func (w *walker) text(path, text string) {
	w.key.WriteString(text)
	if w.static != nil {
		w.static(path, text)
	}
}

func (w *walker) walk(v reflect.Value, path string) {
	if !v.IsValid() {
		w.text(path, "nil")
		return
	}
	if v.Type() == arrayType {
		if v.IsNil() {
			throw("tree", "leaf %s is a nil *Array: fill it before use", orValue(path))
		}
		w.key.WriteByte('*')
		w.leaf(path, v.Interface().(*Array))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		w.key.WriteString(v.Type().String() + "{")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				if holdsArrays(f.Type, map[reflect.Type]bool{}) {
					throw("tree", "field %s.%s holds arrays but is not exported: export it", v.Type(), f.Name)
				}
				if isPlain(f.Type) {
					w.key.WriteString(f.Name + ":")
					w.text(path+"."+f.Name, fmt.Sprintf("%#v", v.Field(i)))
				}
				continue
			}
			w.key.WriteString(f.Name + ":")
			if absent(f, v.Field(i)) {
				w.text(path+"."+f.Name, "nil")
				continue
			}
			inside := path + "." + f.Name
			if f.Tag.Get("tree") == "inline" {
				inside = path
			}
			w.walk(v.Field(i), inside)
		}
		w.key.WriteByte('}')
	case reflect.Slice, reflect.Array:
		if !holdsArrays(v.Type().Elem(), map[reflect.Type]bool{}) {
			w.text(path, fmt.Sprintf("%#v", v.Interface()))
			return
		}
		w.key.WriteByte('[')
		for i := range v.Len() {
			w.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			w.key.WriteByte(',')
		}
		w.key.WriteByte(']')
	case reflect.Map:
		w.key.WriteString("map[")
		for _, k := range sortedKeys(v) {
			fmt.Fprintf(&w.key, "%v:", k.Interface())
			w.walk(v.MapIndex(k), fmt.Sprintf("%s[%#v]", path, k.Interface()))
		}
		w.key.WriteByte(']')
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.text(path, "nil")
			return
		}
		if v.Kind() == reflect.Interface || holdsArrays(v.Type().Elem(), map[reflect.Type]bool{}) {
			w.walk(v.Elem(), path)
		} else if isPlain(v.Type().Elem()) {
			w.text(path, fmt.Sprintf("&%#v", v.Elem().Interface()))
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Uintptr:
		w.text(path, v.Type().String())
	default:
		w.text(path, fmt.Sprintf("%#v", v.Interface()))
	}
}

// plainTypes has the results of plain by type.
var plainTypes sync.Map

func isPlain(t reflect.Type) bool {
	if known, ok := plainTypes.Load(t); ok {
		return known.(bool)
	}
	is := plain(t, map[reflect.Type]bool{})
	plainTypes.Store(t, is)
	return is
}

// plain reports whether a type is made of numbers, bools and strings alone, so that all of a value's meaning is in its
// text. Locks and atomic counters change while others use them, and mean nothing. seen has the types around t.
func plain(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic" {
		return false
	}
	seen[t] = true
	defer delete(seen, t)
	switch k := t.Kind(); k {
	case reflect.Array, reflect.Slice:
		return plain(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if !plain(t.Field(i).Type, seen) {
				return false
			}
		}
		return true
	default:
		return k == reflect.String || reflect.Bool <= k && k <= reflect.Complex128 && k != reflect.Uintptr
	}
}

// absent reports that an optional leaf is not there.
func absent(f reflect.StructField, v reflect.Value) bool {
	return f.Type == arrayType && v.IsNil() && f.Tag.Get("tree") == "optional"
}

// rebuild copies v's structure with leaves taken from next, in walk's order.
func rebuild(v reflect.Value, next func() *Array) reflect.Value {
	if !v.IsValid() {
		return v
	}
	if v.Type() == arrayType {
		return reflect.ValueOf(next())
	}
	switch v.Kind() {
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !absent(f, v.Field(i)) {
				out.Field(i).Set(rebuild(v.Field(i), next))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() || !holdsArrays(v.Type().Elem(), map[reflect.Type]bool{}) {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(rebuild(v.Index(i), next))
		}
		return out
	case reflect.Array:
		if !holdsArrays(v.Type().Elem(), map[reflect.Type]bool{}) {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		for i := range v.Len() {
			out.Index(i).Set(rebuild(v.Index(i), next))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, k := range sortedKeys(v) {
			out.SetMapIndex(k, rebuild(v.MapIndex(k), next))
		}
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(rebuild(v.Elem(), next))
		return out
	case reflect.Pointer:
		if v.IsNil() || !holdsArrays(v.Type().Elem(), map[reflect.Type]bool{}) {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(rebuild(v.Elem(), next))
		return out
	}
	return v
}

// holdsArrays reports whether a value of the type can hold leaves.
func holdsArrays(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == arrayType || t.Kind() == reflect.Interface {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return holdsArrays(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() && holdsArrays(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.Kind() == reflect.String:
			return a.String() < b.String()
		}
		return fmt.Sprint(a.Interface()) < fmt.Sprint(b.Interface())
	})
	return keys
}
