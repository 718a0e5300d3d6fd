package graph

// Ops whose inputs all begin with the same number of leading axes, of which one of size 1 is the same for all indices
// of the others'.

// sharedLead are the leading axes of an op's result: those of its inputs, as many as the first has but for its last
// axis.
func sharedLead(op string, in []Shape) []int {
	n := in[0].Rank() - 1
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
	return apply(n.Op, n.Attrs, front), []int{0}
}
