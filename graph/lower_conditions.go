package graph

import "slices"

// The compiler for TPUs makes a kernel of its own of a comparison of the numbers of an array's elements, such as the
// condition of a select that changes one column. Here conditions that depend on no input become constants.

// mostMask is the most elements of a condition that becomes a constant.
const mostMask = 1 << 12

// lowerConditions writes conditions that depend on no input as constants.
func lowerConditions(g *Graph, _ Target) *Graph {
	return newLowering(g, TargetTPU, func(o *Op) lowerRule {
		if o.Name == "compare" || o.Name == "and" {
			return constantCondition
		}
		return nil
	}).graph(g)
}

// constantCondition is a comparison as a constant, or nil if it is large or may depend on an input.
func constantCondition(_ *lowering, n *Node, _ []*Array) []*Array {
	if n.Outs[0].Size() > mostMask || n.Outs[0].Rank() == 0 {
		return nil
	}
	in := make([]*Tensor, len(n.Inputs))
	for i, x := range n.Inputs {
		if in[i] = constantValue(x); in[i] == nil {
			return nil
		}
	}
	return []*Array{constant(n.Op.Eval(n, in)[0])}
}

// constantValue returns the value of an array that is computed from constants and numbers of elements alone. For others
// it returns nil.
func constantValue(x *Array) *Tensor {
	n := x.node
	if n == nil || !slices.Contains([]string{"constant", "iota", "broadcast_in_dim", "convert", "compare"}, n.Op.Name) {
		return nil
	}
	in := make([]*Tensor, len(n.Inputs))
	for i, a := range n.Inputs {
		if in[i] = constantValue(a); in[i] == nil {
			return nil
		}
	}
	return n.Op.Eval(n, in)[x.index]
}

// constant is a constant of the program, of any size.
func constant(t *Tensor) *Array {
	return apply1(constantOp, constantAttrs{t.Shape, string(t.bytes())})
}
