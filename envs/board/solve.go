package board

import (
	"fmt"
	"math/bits"
)

// MostSolved is the largest number of vertices for Solve: 15 edges, 3^15 colorings.
const MostSolved = 6

// Solution has the value of every position of a clique game and plays it perfectly. It measures learned players.
type Solution struct {
	c       coloring
	variant Variant
	value   []int8 // by Number of the coloring, for the player to move; or Unreached
	ternary []int  // by set of edges: the sum of 3^e
	through [2][][]uint32
}

// Unreached is the value in a Table of positions that no game reaches or where the game is over.
const Unreached = 2

// Solve searches all positions of Clique(v, vertices, k...), of at most 6 vertices.
func Solve(v Variant, vertices int, k ...int) (*Solution, error) {
	g, err := Clique(v, vertices, k...)
	if err != nil {
		return nil, err
	}
	if vertices > MostSolved {
		return nil, fmt.Errorf("board.Solve: got %d vertices, want at most %d: there are 3^%d colorings", vertices,
			MostSolved, vertices*(vertices-1)/2)
	}
	r, _ := g.rules.(cliqueRules)
	s := &Solution{c: r.coloring, variant: v, ternary: make([]int, 1<<r.edges)}
	for set := 1; set < len(s.ternary); set++ {
		low := bits.TrailingZeros(uint(set))
		s.ternary[set] = s.ternary[set&(set-1)] + pow3(low)
	}
	for color := range 2 {
		n := r.throughEdge(r.k[color])
		for e := range r.edges {
			s.through[color] = append(s.through[color], r.closes[color][e*n:(e+1)*n])
		}
	}
	s.value = make([]int8, pow3(r.edges))
	for i := range s.value {
		s.value[i] = Unreached
	}
	s.search([2]uint32{})
	return s, nil
}

func pow3(n int) int {
	p := 1
	for range n {
		p *= 3
	}
	return p
}

// Number is the index of a coloring in Table: the sum over the edges of 3^e times 1 (first player) or 2 (second
// player). Bit e of first and second is 1 if edge e has that player's color.
func (s *Solution) Number(first, second uint32) int { return s.ternary[first] + 2*s.ternary[second] }

// mover is the player to move.
func mover(colored [2]uint32) int {
	return (bits.OnesCount32(colored[0]) + bits.OnesCount32(colored[1])) % 2
}

// after colors an edge, and reports whether this closes a clique.
func (s *Solution) after(colored [2]uint32, edge int) (next [2]uint32, closed bool) {
	p := mover(colored)
	for _, others := range s.through[p][edge] {
		if others&^colored[p] == 0 {
			closed = true
		}
	}
	colored[p] |= 1 << edge
	return colored, closed
}

// worth is the value of a move for its player.
func (s *Solution) worth(colored [2]uint32, edge int) int8 {
	next, closed := s.after(colored, edge)
	switch {
	case closed && s.variant == Maker:
		return 1
	case closed:
		return -1
	case next[0]|next[1] == 1<<s.c.edges-1:
		return 0
	}
	return -s.search(next)
}

func (s *Solution) search(colored [2]uint32) int8 {
	at := s.Number(colored[0], colored[1])
	if v := s.value[at]; v != Unreached {
		return v
	}
	best := int8(-1)
	for edge := range s.c.edges {
		// No early exit: the table has every reachable position.
		if (colored[0]|colored[1])>>edge&1 == 0 {
			best = max(best, s.worth(colored, edge))
		}
	}
	s.value[at] = best
	return best
}

// Value is the value of a position for the player to move: 1, 0 or -1. ok is false for positions that are not reachable
// or where the game is over. Bit e of first and second is 1 if edge e has that player's color.
func (s *Solution) Value(first, second uint32) (value int, ok bool) {
	if (first|second)>>s.c.edges != 0 || first&second != 0 {
		return 0, false
	}
	v := s.value[s.Number(first, second)]
	return int(v), v != Unreached
}

// Variant is the variant of the game.
func (s *Solution) Variant() Variant { return s.variant }

// Best are the optimal moves of a position; nil if Value is not ok.
func (s *Solution) Best(first, second uint32) []int {
	v, ok := s.Value(first, second)
	if !ok {
		return nil
	}
	var moves []int
	for edge := range s.c.edges {
		if colored := [2]uint32{first, second}; (first|second)>>edge&1 == 0 && int(s.worth(colored, edge)) == v {
			moves = append(moves, edge)
		}
	}
	return moves
}

// Table is the values of all colorings by Number, or Unreached.
func (s *Solution) Table() []int8 { return s.value }
