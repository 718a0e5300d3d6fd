package settings

import "reflect"

// Copy returns a copy of v, a pointer to a struct of settings or an interface with one.
func Copy[T any](v T) T {
	old := reflect.ValueOf(v)
	if old.Kind() != reflect.Pointer || old.IsNil() {
		return v
	}
	c := reflect.New(old.Elem().Type())
	c.Elem().Set(old.Elem())
	return c.Interface().(T)
}
