package optim

import (
	"reflect"

	"xlarun/graph"
)

// Hyper-parameters are Go numbers or scalar arrays. Arithmetic on numbers is in float64 while tracing, as in Python for
// optax, so that 1-b2 is accurate.

// number reads a hyper-parameter: a float64 for any Go number, or the scalar *graph.Array.
func number(name string, v any) any {
	if a, ok := v.(*graph.Array); ok {
		if a == nil || a.Rank() != 0 {
			refuse("%s: got %v, want a number or a scalar array", name, a)
		}
		return a
	}
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
	case r.CanFloat():
		return r.Float()
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	}
	refuse("%s: got a %T, want a number or a scalar *graph.Array", name, v)
	return nil
}

// refuse throws an error about a transform's options in its constructor, as the constructors of layers do.
func refuse(format string, args ...any) { graph.Throw("optim", format, args...) }

// like converts a hyper-parameter that is an array to a's dtype; numbers need no conversion.
func like(v any, a *graph.Array) any { return inType(v, a.DType()) }

func inType(v any, d graph.DType) any {
	if x, ok := v.(*graph.Array); ok {
		return x.Convert(d)
	}
	return v
}

// scalar is a hyper-parameter as an array of dtype d.
func scalar(v any, d graph.DType) *graph.Array {
	if x, ok := v.(*graph.Array); ok {
		return x.Convert(d)
	}
	return graph.Scalar(v.(float64), d)
}

// compute is a binary operation on two hyper-parameters, in Go if both are numbers.
func compute(a, b any, host func(x, y float64) float64, op func(x, y any) *graph.Array) any {
	x, okX := a.(float64)
	y, okY := b.(float64)
	if okX && okY {
		return host(x, y)
	}
	return op(a, b)
}

func sub(a, b any) any {
	return compute(a, b, func(x, y float64) float64 { return x - y }, graph.Sub)
}

func mul(a, b any) any {
	return compute(a, b, func(x, y float64) float64 { return x * y }, graph.Mul)
}

func div(a, b any) any {
	return compute(a, b, func(x, y float64) float64 { return x / y }, graph.Div)
}

// moment is the exponential average of x (a gradient or its square): (1-decay) x + decay old.
func moment(x, old *graph.Array, decay any) *graph.Array {
	return graph.Mul(like(sub(1., decay), x), x).Add(graph.Mul(like(decay, old), old))
}

// debias divides a moment by 1 - decay^count, in float32 or float64: in a 16-bit type decay^count would round to 1.
func debias(m *graph.Array, decay any, count *graph.Array) *graph.Array {
	d := wide(m)
	correction := graph.Sub(1, graph.Pow(inType(decay, d), count.Convert(d)))
	return m.Div(cast(correction, m))
}
