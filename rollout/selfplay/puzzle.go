package selfplay

import (
	"math/rand/v2"

	"xlarun/envs/board"
	"xlarun/graph"
)

// puzzle is the colouring of all edges of a graph, where the next edge is always the one that has the fewest colours left, and
// a colour that closes a clique is not chosen while there is another: what is left to learn is the colour, by what it leaves open.
type puzzle struct {
	board.RamseyGame
	order []int32 // by edge: of those with as few colours left, the one with the smallest number is next
}

// puzzleOf draws the order of the edges, the same for all graphs of so many vertices. In the order of their names, all edges of a vertex come
// first, and say little about each other: of random colours ten times as few get through.
func puzzleOf(g board.RamseyGame) puzzle {
	edges := g.Spec().MaxSteps
	p := puzzle{g, make([]int32, edges)}
	for i, e := range rand.New(rand.NewPCG(2, uint64(edges))).Perm(edges) {
		p.order[i] = int32(e)
	}
	return p
}

// Legal are the colours of the next edge that close no clique; where all do, and the puzzle is lost, any colour of it.
func (p puzzle) Legal(s board.RamseyState, params board.Params) *graph.Array {
	open := p.Open(s)
	edges := len(p.order)
	of := func(a *graph.Array) *graph.Array { return graph.Reshape(a, 2, edges) }
	free := graph.Any(of(p.RamseyGame.Legal(s, params)), 0)
	left := graph.Sum(graph.Convert(of(open), graph.Int32), 0)
	next := graph.ArgMin(graph.Select(free, graph.Add(graph.Mul(left, edges), graph.Int32s(p.order)), 3*edges), 0)
	here := graph.Eq(graph.Iota(edges), next)
	both := graph.Concatenate(0, here, here)
	chosen := graph.And(both, open)
	return graph.Or(s.Over, graph.Select(graph.Any(chosen), chosen, both))
}
