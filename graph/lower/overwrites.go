package lower

import (
	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// XLA writes the result of elementwise operations over an operand of the same shape that is read for the last time. Its
// older emitter then passes two pointers to the same place, and LLVM's check that arrays do not overlap fails: the code
// computes one element at a time. It still joins sums and products into vectors, but not selects by arrays of bools.
// Such operands are concatenations, as of a rolled array: they are arrays of their own, while other operations are part
// of what reads them. So a concatenation that a select of the same shape may be written over gets another shape, with a
// first axis of one element.

// leastOverwrite is the least number of elements for that.
const leastOverwrite = 1 << 10

var passOverwrites = Pass{
	Name: "overwrites", Doc: "give concatenations another shape than the selects of their graph", Keeps: Exact,
	For: graph.Target.HasKernels,
	After: []Order{{"ops", "what an op becomes may select, or concatenate"},
		{"rolls", "rolls that became slices are no concatenations"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		over := map[*graph.Node]bool{}
		markOverwrites(g, over)
		if len(over) == 0 {
			return nil
		}
		return byNode(t, func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			if !over[n] {
				return nil
			}
			wide := make([]*graph.Array, len(in))
			for i, x := range in {
				wide[i] = graph.ExpandDims(x, 0)
			}
			return []*graph.Array{graph.Reshape(graph.Concatenate(n.Attrs.(attr.Axis).Axis+1, wide...),
				n.Outs[0].Dims()...)}
		}, "concatenate")
	},
}

// markOverwrites marks the concatenations of a graph and of its bodies that a select could be written over.
func markOverwrites(g *graph.Graph, over map[*graph.Node]bool) {
	selects := map[string]bool{} // their shapes
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			markOverwrites(b, over)
		}
		if n.Op.Name == "select" {
			selects[n.Outs[0].Shape().String()] = true
		}
	}
	for _, n := range g.Nodes {
		if x := n.Outs; n.Op.Name == "concatenate" && x[0].Size() >= leastOverwrite && selects[x[0].Shape().String()] {
			over[n] = true
		}
	}
}
