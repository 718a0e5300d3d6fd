package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
)

// A layer's zero Policy casts nothing: inputs and parameters are promoted as usual, so that a layer also works in a
// function whose caller casts parameters and inputs (precision.ValueAndGrad).

func toCompute(p precision.Policy, x *graph.Array) *graph.Array {
	if p == (precision.Policy{}) {
		return x
	}
	return precision.CastToCompute(p, x)
}

func toOutput(p precision.Policy, x *graph.Array) *graph.Array {
	if p == (precision.Policy{}) {
		return x
	}
	return precision.CastToOutput(p, x)
}

// paramType is the element type that parameters are drawn in.
func paramType(p precision.Policy) graph.DType {
	if p.Param == 0 {
		return graph.Float32
	}
	return p.Param
}
