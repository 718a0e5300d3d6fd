package board

import "xlarun/graph"

// Open is the mask of the actions that color a free edge without closing a clique: bool[2 edges].
func (r RamseyGame) Open(s RamseyState) *graph.Array {
	free := r.free(s.Board)
	var both []*graph.Array
	for color := range 2 {
		n := r.throughEdge(r.k[color])
		left := s.Board.Colored.Index(color).Not().Reshape(1, r.words).BroadcastTo(r.edges, r.words)
		if r.images != nil {
			left = left.And(graph.Uint32s(r.images, r.edges, r.words).Not())
		}
		left = left.Reshape(r.edges, 1, r.words).BroadcastTo(r.edges, n, r.words)
		missing := graph.Uint32s(r.closes[color], r.edges, n, r.words).And(left)
		closes := missing.Eq(0).All(2).Any(1)
		both = append(both, free.And(closes.Not()))
	}
	return graph.Concatenate(0, both...)
}
