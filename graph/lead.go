package graph

// Ops whose inputs all begin with the same number of leading axes. An axis of size 1 is the same for all indices of the
// other inputs' axis.

// sharedLead returns the leading axes of an op's result: each of the inputs has n of them.
func sharedLead(op string, n int, in []Shape) []int {
	var leads [][]int
	for _, s := range in {
		leads = append(leads, s.Dims[:n])
	}
	return BroadcastDims(op, leads...)
}

// batchLead makes the lanes one more leading axis, of size 1 for inputs that all lanes share.
func batchLead(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	front := make([]*Array, len(in))
	for i, a := range in {
		if dims[i] < 0 {
			front[i] = ExpandDims(a, 0)
		} else {
			front[i] = b.moveTo(a, dims[i], 0)
		}
	}
	return apply(n.Op, n.Attrs, front), make([]int, len(n.Outs))
}

// forLead calls f for each index of the leading axes, with the place of the first element that each tensor has there.
// own is how many axes each tensor has after the leading ones.
func forLead(tensors []*Tensor, own []int, f func(at []int)) {
	var leads [][]int
	for i, t := range tensors {
		leads = append(leads, t.Shape.Dims[:t.Shape.Rank()-own[i]])
	}
	forEach(BroadcastDims("reference", leads...), func(_ int, index []int) {
		at := make([]int, len(tensors))
		for i, t := range tensors {
			for axis, place := range strides(t.Shape.Dims)[:len(index)] {
				if t.Shape.Dims[axis] > 1 {
					at[i] += index[axis] * place
				}
			}
		}
		f(at)
	})
}

// sumTo sums over the axes that have size 1 in an array of this shape.
func sumTo(x *Array, s Shape) *Array {
	var axes []int
	for i, d := range s.Dims {
		if d == 1 && x.Dim(i) != 1 {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		return x
	}
	return Reshape(Sum(x, axes...), s.Dims...)
}
