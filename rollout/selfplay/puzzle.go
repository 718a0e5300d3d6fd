package selfplay

import (
	"xlarun/envs/board"
	"xlarun/graph"
)

// puzzle is the coloring of all edges of a graph. The next edge is the first of those with the fewest colors left. A
// color that closes a clique is legal only if both colors do. So only the color is learned.
type puzzle struct{ board.RamseyGame }

// Legal returns the colors of the next edge that close no clique. If both close one, the puzzle is lost and both are
// legal.
func (p puzzle) Legal(s board.RamseyState, params board.Params) *graph.Array {
	open := p.Open(s)
	edges := open.Size() / 2
	free := p.RamseyGame.Legal(s, params).Reshape(2, edges).Any(0)
	left := open.Reshape(2, edges).Convert(graph.Int32).Sum(0)
	next := graph.Select(free, left, 3).ArgMin(0)
	here := graph.Iota(edges).Eq(next)
	both := graph.Concatenate(0, here, here)
	chosen := both.And(open)
	return s.Over.Or(graph.Select(chosen.Any(), chosen, both))
}
