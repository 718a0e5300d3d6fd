package special

import "xlarun/graph"

// floatOf reads an operand of a float function.
func floatOf(name string, x any) *graph.Array { return graph.FloatOperands(name, x)[0] }

// inFloat32 is x as float32, or as it is where it is float64 or complex.
func inFloat32(x *graph.Array) *graph.Array {
	if d := x.DType(); d == graph.Float64 || d == graph.Complex64 {
		return x
	}
	return graph.Convert(x, graph.Float32)
}
