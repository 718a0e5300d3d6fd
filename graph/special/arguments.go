package special

import "xlarun/graph"

// floatOf reads an operand of a float function.
func floatOf(name string, x any) *graph.Array { return graph.Arguments.Floats(name, x)[0] }
