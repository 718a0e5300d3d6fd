package selfplay

import (
	"fmt"
	"strings"

	"xlarun/envs/board"
)

// Rules returns how the game is won, in a few words.
func (v *Viewer) Rules() string {
	c := v.Config()
	switch c.Game {
	case clique:
		k := v.program.game.k
		what := fmt.Sprintf("all %d edges between %d vertices", k[0]*(k[0]-1)/2, k[0])
		if k[0] != k[1] {
			what = fmt.Sprintf("all edges between %d vertices (x) or %d vertices (o)", k[0], k[1])
		}
		switch c.Variant {
		case "avoid":
			return "the first player who colors " + what + " loses"
		case ramsey:
			return "color all edges of the graph, but never " + what + " in one color"
		}
		return "the first player who colors " + what + " wins"
	case "tictactoe":
		return "three in a row win"
	case "connectfour":
		return "four in a row win"
	case "hex":
		return "x connects the top with the bottom, o the left with the right"
	}
	return "the player with more discs at the end wins"
}

// Text returns a position for a terminal: a board row by row, or the matrix of a graph's colors.
func (v *Viewer) Text(p Position) string {
	g := v.program.game
	var b strings.Builder
	if g.vertices > 0 {
		edges := g.vertices * (g.vertices - 1) / 2
		n := (edges + 31) / 32
		b.WriteString("   ")
		for y := range g.vertices {
			fmt.Fprintf(&b, "%3d", y)
		}
		for x := range g.vertices {
			fmt.Fprintf(&b, "\n%3d", x)
			for y := range g.vertices {
				mark := " "
				if x != y {
					e := board.Edge(g.vertices, min(x, y), max(x, y))
					switch {
					case p.words[e/32]>>(e%32)&1 == 1:
						mark = "x"
					case p.words[n+e/32]>>(e%32)&1 == 1:
						mark = "o"
					default:
						mark = "."
					}
				}
				fmt.Fprintf(&b, "  %s", mark)
			}
		}
		return b.String() + "\n"
	}
	dims := g.env.Spec().Observation.Shape().Dims
	b.WriteString("  ")
	for x := range dims[1] {
		fmt.Fprintf(&b, " %c", 'a'+x)
	}
	for y := range dims[0] {
		fmt.Fprintf(&b, "\n%2d", y+1)
		if g.hexagons {
			b.WriteString(strings.Repeat(" ", y)) // each row is half a cell to the right of the row above
		}
		for x := range dims[1] { // the cells are the state's first leaf
			fmt.Fprintf(&b, " %c", ".xo"[min(2, p.words[y*dims[1]+x])])
		}
	}
	return b.String() + "\n"
}
