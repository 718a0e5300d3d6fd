package graph

import "slices"

// stackOf returns the arrays that an array is a stack of, each of length 1 along an axis; nil: it is no such stack.
func stackOf(x *Array, axis int) []*Array {
	stack := x.node
	if stack == nil || stack.Op.Name != "concatenate" || stack.Attrs.(axisAttrs).Axis != axis ||
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
	if !l.target.Accelerator() || a.Preferred != 0 || out.DType != Float32 || len(a.LeftContract) != 1 {
		return nil
	}
	terms := func(x *Array, axis int) []*Array {
		if x.Dim(axis) > mostSummed {
			return nil
		}
		return stackOf(x, axis)
	}
	left, right := terms(in[0], a.LeftContract[0]), terms(in[1], a.RightContract[0])
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
	lf, rf := a.Free(in[0].Rank(), in[1].Rank())
	batches, own := len(a.LeftBatch), len(a.LeftBatch)+len(lf)
	var sum *Array
	for k := range in[0].Dim(a.LeftContract[0]) {
		x := term(in[0], left, a.LeftBatch, lf, a.LeftContract, k)
		y := term(in[1], right, a.RightBatch, rf, a.RightContract, k)
		sum = addTangents(sum, Mul(BroadcastInDim(x, out.Dims, rangeInts(0, own)),
			BroadcastInDim(y, out.Dims, append(rangeInts(0, batches), rangeInts(own, out.Rank())...))))
	}
	return []*Array{sum}
}
