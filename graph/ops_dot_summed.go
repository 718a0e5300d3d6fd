package graph

import "slices"

// stackOf returns the arrays that an array is a stack of, each of length 1 along an axis; nil: it is no such stack.
func stackOf(x *Array, axis int) []*Array {
	stack := x.node
	if stack == nil || stack.Op.Name != "concatenate" || stack.Attrs.(axisAttrs).axis != axis ||
		slices.ContainsFunc(stack.Inputs, func(x *Array) bool { return x.Dim(axis) != 1 }) {
		return nil
	}
	return stack.Inputs
}

// mostSummed is the most terms of a product that is written out.
const mostSummed = 8

// summedDot writes a product with a stack of a few arrays, such as the numbers that a network observes, as a sum of
// products with each of them: the stack would be a kernel of its own. nil: it is no such product.
func summedDot(l *Cursor, n *Node, in []*Array) []*Array {
	a, out := n.Attrs.(dotAttrs), n.Outs[0].shape
	if !l.target.accelerator() || a.preferred != 0 || out.DType != Float32 || len(a.leftContract) != 1 {
		return nil
	}
	terms := func(x *Array, axis int) []*Array {
		if x.Dim(axis) > mostSummed {
			return nil
		}
		return stackOf(x, axis)
	}
	left, right := terms(in[0], a.leftContract[0]), terms(in[1], a.rightContract[0])
	if left == nil && right == nil {
		return nil
	}
	term := func(x *Array, stack []*Array, batch, free, contract []int, k int) *Array { // [batch, free]
		if stack != nil {
			x = stack[k]
		} else {
			x = SliceAxis(x, contract[0], k, k+1)
		}
		x = Transpose(x, slices.Concat(contract, batch, free)...)
		return Reshape(x, x.Dims()[1:]...)
	}
	lf, rf := a.free(in[0].Rank(), in[1].Rank())
	batches, own := len(a.leftBatch), len(a.leftBatch)+len(lf)
	var sum *Array
	for k := range in[0].Dim(a.leftContract[0]) {
		x := term(in[0], left, a.leftBatch, lf, a.leftContract, k)
		y := term(in[1], right, a.rightBatch, rf, a.rightContract, k)
		sum = addTangents(sum, Mul(broadcastInDim(x, out.Dims, rangeInts(0, own)),
			broadcastInDim(y, out.Dims, append(rangeInts(0, batches), rangeInts(own, out.Rank())...))))
	}
	return []*Array{sum}
}
