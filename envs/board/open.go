package board

import "xlarun/graph"

// Open tells which actions close no clique, of edges without a colour: bool[2 edges], in the order of the actions.
func (r RamseyGame) Open(s RamseyState) *graph.Array {
	free := r.free(s.Board)
	var both []*graph.Array
	for colour := range 2 {
		n := r.throughEdge(r.k[colour])
		own := graph.Reshape(graph.Not(graph.Index(s.Board.Coloured, colour)), 1, 1, r.words)
		missing := graph.And(graph.Uint32s(r.closes[colour], r.edges, n, r.words), graph.BroadcastTo(own, r.edges, n, r.words))
		closes := graph.Any(graph.All(graph.Eq(missing, 0), 2), 1)
		both = append(both, graph.And(free, graph.Not(closes)))
	}
	return graph.Concatenate(0, both...)
}
