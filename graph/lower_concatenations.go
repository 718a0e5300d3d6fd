package graph

import "slices"

// The compiler for TPUs makes a kernel of a concatenation, and one more for each part of it that is computed. Up to
// three parts it writes as selects of padded parts, which are one kernel with the operations around them. Here more
// parts are written so. Where a part begins is a constant array: what the compiler compares with the numbers of elements is
// a kernel of its own.

const (
	// leastParts is the least number of parts that are worth it.
	leastParts = 4
	// mostParts is the most parts: each of them is a pass over the whole result.
	mostParts = 32
	// mostConcatenated is the most bytes of such a result.
	mostConcatenated = 1 << 20
	// mostMask is the most elements of a condition that becomes a constant.
	mostMask = 1 << 12
)

// lowerConcatenations writes concatenations as selects, and conditions that depend on no input as constants.
func lowerConcatenations(g *Graph, _ Target) *Graph {
	return newLowering(g, TargetTPU, func(o *Op) lowerRule {
		switch o.Name {
		case "concatenate":
			return selectedParts
		case "compare", "and":
			return constantCondition
		}
		return nil
	}).graph(g)
}

// selectedParts is a concatenation as selects.
func selectedParts(_ *lowering, n *Node, in []*Array) []*Array {
	out, axis := n.Outs[0].shape, n.Attrs.(axisAttrs).axis
	if len(in) < leastParts || len(in) > mostParts || out.Bytes() > mostConcatenated || isComplex(out.DType) {
		return nil
	}
	end := out.Dims[axis]
	var all *Array
	for _, part := range slices.Backward(in) {
		size := part.Dim(axis)
		placed := part
		if size == 1 {
			placed = BroadcastTo(part, out.Dims...)
		} else {
			low, high := make([]int, out.Rank()), make([]int, out.Rank())
			low[axis], high[axis] = end-size, out.Dims[axis]-end
			placed = Pad(part, Zeros(Shape{DType: out.DType}), low, high)
		}
		if all == nil {
			all = placed
		} else {
			before := newTensor(Shape{DType: Bool, Dims: []int{out.Dims[axis]}})
			for i := range end {
				before.V[i] = 1
			}
			all = Select(broadcastInDim(constant(before), out.Dims, []int{axis}), placed, all)
		}
		end -= size
	}
	return []*Array{all}
}

// constantCondition is a comparison of constants and numbers of elements as a constant.
func constantCondition(_ *lowering, n *Node, _ []*Array) []*Array {
	if n.Outs[0].Size() > mostMask || n.Outs[0].Rank() == 0 {
		return nil
	}
	in := make([]*Tensor, len(n.Inputs))
	for i, x := range n.Inputs {
		if in[i] = known(x); in[i] == nil {
			return nil
		}
	}
	return []*Array{constant(n.Op.Eval(n, in)[0])}
}

// known returns an array that depends on no input; nil: it does, or it is not known that it does not.
func known(x *Array) *Tensor {
	n := x.node
	if n == nil || !slices.Contains([]string{"constant", "iota", "broadcast_in_dim", "convert", "compare"}, n.Op.Name) {
		return nil
	}
	in := make([]*Tensor, len(n.Inputs))
	for i, a := range n.Inputs {
		if in[i] = known(a); in[i] == nil {
			return nil
		}
	}
	return n.Op.Eval(n, in)[x.index]
}

// constant is a constant of the program, of any size.
func constant(t *Tensor) *Array {
	return apply1(constantOp, constantAttrs{t.Shape, string(t.bytes())})
}
