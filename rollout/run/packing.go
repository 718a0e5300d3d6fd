package run

import "xlarun/graph"

// packedBytes is the size in bytes up to which a leaf is packed. It takes longer to copy a larger one than to hand it
// to a program as an argument of its own.
const packedBytes = 1 << 16

// packingOf returns how a Loop hands a tree to its program. If on, small leaves of 32-bit elements go as one vector,
// u32[words]: for a learner with dozens of small arrays, this saves a tenth of an update.
func packingOf(tree any, on bool) *graph.Packing {
	return graph.NewPacking(tree, func(s graph.Shape) graph.DType {
		if on && graph.ItemSize(s.DType) == 4 && s.Bytes() <= packedBytes {
			return graph.Uint32
		}
		return graph.NotPacked
	})
}
