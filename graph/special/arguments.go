package special

import "xlarun/graph"

// floatOf reads an operand of a float function.
func floatOf(name string, x any) *graph.Array { return graph.FloatOperands(name, x)[0] }
