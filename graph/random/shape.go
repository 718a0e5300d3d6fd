package random

import (
	"math"
	"math/big"
	"reflect"

	"xlarun/graph"
)

// format is what sampling has to know of a float type.
type format struct {
	graph.FloatInfo
	one   uint64      // the bits of 1.0
	uint  graph.DType // the unsigned type of the same width
	drawn graph.DType // the unsigned type whose random bits fill the significand
}

var formats = map[graph.DType]format{
	graph.Float64:  {graph.Finfo(graph.Float64), 0x3FF0000000000000, graph.Uint64, graph.Uint64},
	graph.Float32:  {graph.Finfo(graph.Float32), 0x3F800000, graph.Uint32, graph.Uint32},
	graph.Float16:  {graph.Finfo(graph.Float16), 0x3C00, graph.Uint16, graph.Uint16},
	graph.BFloat16: {graph.Finfo(graph.BFloat16), 0x3F80, graph.Uint16, graph.Uint8},
}

// aboveMinusOne is the smallest number of the type that is larger than -1.
func (f format) aboveMinusOne() float64 { return math.Ldexp(1, -f.NMant-1) - 1 }

// floatShape refuses shapes that a continuous distribution cannot fill.
func floatShape(op string, s graph.Shape) graph.Shape {
	checkDims(op, s.Dims)
	if _, ok := formats[s.DType]; !ok {
		graph.Throw(op, "got the shape %s, want a float type: graph.ShapeOf(graph.Float32, …)", s)
	}
	return s
}

func checkDims(op string, dims []int) {
	for i, d := range dims {
		if d < 0 {
			graph.Throw(op, "axis %d of %v has the negative size %d", i, dims, d)
		}
	}
}

// parameter reads a distribution's parameter, a Go number or an array, as an array of dtype d that broadcasts to
// dims.
func parameter(op, name string, x any, d graph.DType, dims []int) *graph.Array {
	if a, ok := x.(*graph.Array); ok && a != nil {
		fitsIn(op, name, a, dims)
		return a.Convert(d)
	}
	v, ok := goNumber(x)
	if !ok {
		graph.Throw(op, "%s is a %T, want a number or a *graph.Array", name, x)
	}
	return graph.Full(graph.ShapeOf(d), v)
}

// fitsIn refuses a parameter whose shape does not broadcast to dims.
func fitsIn(op, name string, a *graph.Array, dims []int) {
	at := len(dims) - a.Rank()
	for i, d := range a.Dims() {
		if at < 0 || d != 1 && d != dims[at+i] {
			graph.Throw(op, "%s, a %s, does not broadcast to dims %v", name, a.Shape(), dims)
		}
	}
}

// goNumber reads a Go number.
func goNumber(x any) (float64, bool) {
	switch v := reflect.ValueOf(x); {
	case !v.IsValid():
		return 0, false
	case v.CanFloat():
		return v.Float(), true
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	}
	return 0, false
}

// goInteger reads a Go integer.
func goInteger(x any) (*big.Int, bool) {
	switch v := reflect.ValueOf(x); {
	case !v.IsValid():
		return nil, false
	case v.CanInt():
		return big.NewInt(v.Int()), true
	case v.CanUint():
		return new(big.Int).SetUint64(v.Uint()), true
	}
	return nil, false
}
