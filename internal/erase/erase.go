// Package erase hides types: of functions, it makes functions of any.
package erase

import (
	"fmt"
	"reflect"
)

// To returns v, a function or a struct of them, as a T: the same type with any instead of some types of arguments and
// results. The functions take arguments of their own types only; for another one, such as nil, refuse is called, and
// panics. Of types with type parameters inside, only pointers, structs and functions are known.
//
// It works by reflection. Closures of generic functions are compiled for each type: they took 2.3 MB of the program.
func To[T any](v any, refuse func(got any, want reflect.Type)) T {
	var t T
	reflect.ValueOf(&t).Elem().Set(as(reflect.ValueOf(v), reflect.TypeFor[T](), refuse))
	return t
}

// Method sets a variable of a func type to a method of v, as To makes it.
func Method(variable, v reflect.Value, m reflect.Method, refuse func(got any, want reflect.Type)) {
	variable.Set(function(variable.Type(), func(i int) reflect.Type { return m.Type.In(i + 1) },
		func(arguments []reflect.Value) []reflect.Value {
			return m.Func.Call(append([]reflect.Value{v}, arguments...))
		}, refuse))
}

// function returns a function of type t that calls another one, whose argument i has the type in(i).
func function(t reflect.Type, in func(i int) reflect.Type, call func([]reflect.Value) []reflect.Value,
	refuse func(any, reflect.Type)) reflect.Value {
	return reflect.MakeFunc(t, func(arguments []reflect.Value) []reflect.Value {
		for i, a := range arguments {
			arguments[i] = as(a, in(i), refuse)
		}
		results := call(arguments)
		for i, r := range results {
			results[i] = as(r, t.Out(i), refuse)
		}
		return results
	})
}

// as returns v as a value of type t. Exported fields of a struct become the fields of t with their names.
func as(v reflect.Value, t reflect.Type, refuse func(any, reflect.Type)) reflect.Value {
	result := reflect.New(t).Elem()
	switch kind := v.Kind(); {
	case v.Type().AssignableTo(t):
		result.Set(v)
	case kind == reflect.Interface:
		if v.IsNil() || !v.Elem().Type().AssignableTo(t) {
			refuse(v.Interface(), t)
		}
		result.Set(v.Elem())
	case (kind == reflect.Func || kind == reflect.Pointer) && v.IsNil():
	case kind == reflect.Func:
		result.Set(function(t, v.Type().In, v.Call, refuse))
	case kind == reflect.Pointer:
		result.Set(reflect.New(t.Elem()))
		result.Elem().Set(as(v.Elem(), t.Elem(), refuse))
	case kind == reflect.Struct && v.CanConvert(t):
		result.Set(v.Convert(t))
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				field := result.FieldByName(f.Name)
				field.Set(as(v.Field(i), field.Type(), refuse))
			}
		}
	default:
		panic(fmt.Sprintf("erase: got a %s as a %s, wants a pointer, a struct or a function", v.Type(), t))
	}
	return result
}
