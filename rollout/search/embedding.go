package search

import "xlarun/graph"

// Embeddings are stored as one array per dtype, so that a node's state is read and written at once. Bools and integers
// of at most 32 bits share one array of int32.

// embeddingPacking returns how embeddings like e are packed.
func embeddingPacking(e any) *graph.Packing {
	return graph.NewPacking(e, func(s graph.Shape) graph.DType {
		switch s.DType {
		case graph.Bool, graph.Uint32, graph.Int8, graph.Uint8, graph.Int16, graph.Uint16:
			return graph.Int32
		}
		return s.DType
	})
}

// checkEmbedding throws an error for an embedding from the model that differs from the root's in shape.
func checkEmbedding(p *graph.Packing, e any) {
	leaves, want := graph.Leaves(e), p.Shapes()
	if len(leaves) != len(want) {
		graph.Throw("search", "the model gives an embedding of %d arrays, want the root's %d", len(leaves), len(want))
	}
	for i, a := range leaves {
		if !a.Shape().Equal(want[i]) {
			graph.Throw("search", "the model gives an embedding with %s at %s, want the root's %s", a.Shape(),
				p.Tree().Path(i), want[i])
		}
	}
}
