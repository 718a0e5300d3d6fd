package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A loop that is mapped over lanes goes on until all have ended, and keeps the carry of those that have. Where an
// iteration writes into an array, that is a pass over the whole array, and a copy of it to read it from. On a GPU the
// lanes that have ended write outside of the array instead, which drops the write.

var passEnded = Pass{
	Name: "ended", Doc: "drop the writes of lanes that have ended", Keeps: Exact,
	For:   func(t graph.Target) bool { return t.Platform == "cuda" },
	After: []Order{{"ops", "mapped loops select, and what an op becomes may write"}},
	Begin: func(_ *graph.Graph, t graph.Target) Run { return byNode(t, droppedWrites, "select") },
}

// droppedWrites makes a choice between an array and the array with a window of each lane written, by lane, a write that
// some lanes drop. nil: it is no such choice.
func droppedWrites(_ *graph.Cursor, _ *graph.Node, in []*graph.Array) []*graph.Array {
	write, lanes := in[1].Node(), in[0].Node()
	if write == nil || write.Op.Name != "scatter" || write.Inputs[0] != in[2] ||
		lanes == nil || lanes.Op.Name != "broadcast_in_dim" {
		return nil
	}
	a, indices := write.Attrs.(attr.Gather), write.Inputs[1]
	if a.Kind != "set" || indices.DType() != graph.Int32 || len(a.IndexMap) == 0 || len(a.Batch) == 0 ||
		!slices.Equal(lanes.Attrs.(attr.Broadcast).Axes, a.Batch) || !slices.Equal(a.IndexBatch, a.Batch) {
		return nil
	}
	going := graph.BroadcastInDim(lanes.Inputs[0], indices.Dims(), a.IndexBatch)
	outside := graph.Full(indices.Shape(), int32(slices.Max(in[2].Dims())))
	return write.Op.Call(a, []*graph.Array{in[2], graph.Select(going, indices, outside), write.Inputs[2]})
}
