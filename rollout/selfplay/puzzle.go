package selfplay

import (
	"xlarun/envs/board"
	"xlarun/graph"
)

// puzzle is the colouring of all edges of a graph, where the next edge is always the one that has the fewest colours
// left (of these the first), and a colour that closes a clique is not chosen while there is another: what is left to
// learn is the colour, by what it leaves open.
type puzzle struct{ board.RamseyGame }

// Legal are the colours of the next edge that close no clique; where all do, and the puzzle is lost, any colour of it.
func (p puzzle) Legal(s board.RamseyState, params board.Params) *graph.Array {
	open := p.Open(s)
	edges := open.Size() / 2
	of := func(a *graph.Array) *graph.Array { return graph.Reshape(a, 2, edges) }
	free := graph.Any(of(p.RamseyGame.Legal(s, params)), 0)
	left := graph.Sum(graph.Convert(of(open), graph.Int32), 0)
	next := graph.ArgMin(graph.Select(free, left, 3), 0)
	here := graph.Eq(graph.Iota(edges), next)
	both := graph.Concatenate(0, here, here)
	chosen := graph.And(both, open)
	return graph.Or(s.Over, graph.Select(graph.Any(chosen), chosen, both))
}
