package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// XLA writes the result of elementwise operations over an operand of the same shape that is read for the last time. Its
// older emitter then passes two pointers to the same place, and LLVM's check that arrays do not overlap fails: the code
// computes one element at a time. It still joins sums and products into vectors, but not selects by arrays of bools.
// Such operands are concatenations, as of a rolled array: they are arrays of their own, while other operations are part
// of what reads them. So a concatenation that a select of the same shape may be written over gets another shape, with a
// first axis of one element. Products outside of loops get it by a barrier. XLA makes selects of multiplications by
// bools, such as those of the entries of a product by a graph's edges.

// leastOverwrite is the least number of elements for that.
const leastOverwrite = 1 << 10

var passOverwrites = Pass{
	Name: "overwrites", Doc: "give concatenations and products another shape than the selects of their graph",
	Keeps: Exact,
	For:   graph.Target.HasKernels,
	After: []Order{{"ops", "what an op becomes may select, or concatenate"},
		{"rolls", "rolls that became slices are no concatenations"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		over := map[*graph.Node]bool{}
		markOverwrites(g, over, false)
		if len(over) == 0 {
			return nil
		}
		return byNode(t, func(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
			if !over[n] {
				return nil
			}
			if n.Op.Name == "dot_general" {
				x := n.Op.Call(n.Attrs, in)[0]
				apart := graph.Barrier(graph.ExpandDims(x, 0))[0]
				return []*graph.Array{graph.Reshape(apart, x.Dims()...)}
			}
			wide := make([]*graph.Array, len(in))
			for i, x := range in {
				wide[i] = graph.ExpandDims(x, 0)
			}
			return []*graph.Array{graph.Reshape(graph.Concatenate(n.Attrs.(attr.Axis).Axis+1, wide...),
				n.Outs[0].Dims()...)}
		}, "concatenate", "dot_general")
	},
}

// markOverwrites marks the concatenations and products of a graph and of its bodies that a select could be written
// over.
func markOverwrites(g *graph.Graph, over map[*graph.Node]bool, inLoop bool) {
	selects := map[string]bool{} // their shapes
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			markOverwrites(b, over, inLoop || n.Op.Loop != nil)
		}
		if n.Op.Name == "select" || n.Op.Name == "mul" && slices.ContainsFunc(n.Inputs, fromBools) {
			selects[n.Outs[0].Shape().String()] = true
		}
	}
	for _, n := range g.Nodes {
		kind := n.Op.Name == "concatenate" || n.Op.Name == "dot_general" && !inLoop
		if x := n.Outs; kind && x[0].Size() >= leastOverwrite && selects[x[0].Shape().String()] {
			over[n] = true
		}
	}
}

// fromBools reports whether an array is 0 where a bool is false, and 1 elsewhere.
func fromBools(x *graph.Array) bool {
	n := x.Node()
	return n != nil && n.Op.Name == "convert" && n.Inputs[0].DType() == graph.Bool
}
