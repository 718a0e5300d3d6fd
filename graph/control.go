package graph

import (
	"fmt"
	"slices"
)

// What the rules of loops and branches share.

func batchedFlags(dims []int) []bool {
	out := make([]bool, len(dims))
	for i, d := range dims {
		out[i] = d >= 0
	}
	return out
}

// ShapesOf lists the shapes of arrays.
func ShapesOf(arrays []*Array) []Shape {
	out := make([]Shape, len(arrays))
	for i, a := range arrays {
		out[i] = a.shape
	}
	return out
}

// checkCarry throws one sentence that lists every difference between a loop's carry in and out.
func checkCarry(name string, in *Tree, inShapes []Shape, out *Tree, outShapes []Shape) {
	mustMatch(name, "initial carry", in, "carry that the body returns", out)
	var diff string
	for i := range inShapes {
		if !inShapes[i].Equal(outShapes[i]) {
			diff += fmt.Sprintf("; %s goes in as %s and comes out as %s", in.Path(i), inShapes[i], outShapes[i])
		}
	}
	if diff != "" {
		throw(name, "the body must return the carry with the shapes it got%s: convert or reshape it in the body, or "+
			"start with what the body returns", diff)
	}
}

// unknownLoop finds which results of a loop body depend on unknown inputs once the carry has gone round until nothing
// changes, and which parts of the carry those make unknown.
func unknownLoop(body *Graph, unknown []bool, consts, carry int) (out, carryUnknown []bool) {
	unknown = slices.Clone(unknown)
	for {
		out = unknownResults(body, unknown)
		grown := false
		for i := range carry {
			if out[i] && !unknown[consts+i] {
				unknown[consts+i], grown = true, true
			}
			out[i] = out[i] || unknown[consts+i]
		}
		if !grown {
			return out, unknown[consts : consts+carry]
		}
	}
}

// growCarry adds to live the parts of a loop's carry that its live results need.
func growCarry(p pruned, body *Graph, live []bool, consts, carry int) (g *Graph, used []bool) {
	for {
		g, used = p.with(body, choose(body.Results, live))
		grown := false
		for i := range carry {
			if used[consts+i] && !live[i] {
				live[i], grown = true, true
			}
		}
		if !grown {
			return g, used
		}
	}
}
