package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// The compiler for TPUs makes a kernel of a concatenation, and one more for each part of it that is computed. Up to
// three parts it writes as selects of padded parts, which are one kernel with the operations around them. Here more
// parts are written so. The elements of a part are marked by a constant array: a comparison with the numbers of the
// elements would be a kernel of its own.

const (
	// leastParts is the least number of parts that are worth it.
	leastParts = 4
	// mostParts is the most parts: each of them is a pass over the whole result.
	mostParts = 32
	// mostConcatenated is the most bytes of such a result.
	mostConcatenated = 1 << 20
)

var passConcatenations = Pass{
	Name: "concatenations", Doc: "write concatenations as selects", Keeps: Exact,
	For: func(t graph.Target) bool { return t.Platform == "tpu" },
	After: []Order{{"collectives", "arrays that are gathered together are concatenated"},
		{"ops", "what an op becomes may concatenate, or read the parts of a stack"}},
	Begin: func(_ *graph.Graph, t graph.Target) Run { return byNode(t, selectedParts, "concatenate") },
}

// selectedParts is a concatenation as selects.
func selectedParts(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
	out, axis := n.Outs[0].Shape(), n.Attrs.(attr.Axis).Axis
	if len(in) < leastParts || len(in) > mostParts || out.Bytes() > mostConcatenated || out.DType.IsComplex() {
		return nil
	}
	end := out.Dims[axis]
	var all *graph.Array
	for _, part := range slices.Backward(in) {
		size := part.Dim(axis)
		placed := part
		if size == 1 {
			placed = graph.BroadcastTo(part, out.Dims...)
		} else {
			low, high := make([]int, out.Rank()), make([]int, out.Rank())
			low[axis], high[axis] = end-size, out.Dims[axis]-end
			placed = graph.Pad(part, graph.Zeros(graph.Shape{DType: out.DType}), low, high)
		}
		if all == nil {
			all = placed
		} else {
			before := &graph.Tensor{Shape: graph.ShapeOf(graph.Bool, out.Dims[axis]), V: make([]uint64, out.Dims[axis])}
			for i := range end {
				before.V[i] = 1
			}
			all = graph.Select(graph.BroadcastInDim(before.Constant(), out.Dims, []int{axis}), placed, all)
		}
		end -= size
	}
	return []*graph.Array{all}
}
