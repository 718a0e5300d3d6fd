package board

import (
	"fmt"
	"math/bits"
	"slices"
)

// MostSolved is the largest number of vertices for Solve: 15 edges, 3^15 colorings.
const MostSolved = 6

// Solution has the value of every position of a clique game and plays it perfectly. It measures learned players.
type Solution struct {
	c       coloring
	variant Variant
	value   []int8    // by Number of the coloring, for the player to move; or Unreached
	ternary []int     // by set of edges: the sum of 3^e
	cliques [2][]bool // by color and set of edges: it has a clique that counts
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
	for color := range s.cliques {
		s.cliques[color] = make([]bool, 1<<r.edges)
		n := r.throughEdge(r.k[color])
		for set := uint32(1); int(set) < len(s.ternary); set++ {
			low, rest := bits.TrailingZeros32(set), set&(set-1)
			s.cliques[color][set] = s.cliques[color][rest] || slices.ContainsFunc(r.closes[color][low*n:(low+1)*n],
				func(others uint32) bool { return others&^rest == 0 })
		}
	}
	s.value = make([]int8, pow3(r.edges))
	for i := range s.value {
		s.value[i] = Unreached
	}
	s.fill([2]uint32{}, 0, r.edges)
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

// worth is the value of a move for its player p, in the position with a number.
func (s *Solution) worth(colored [2]uint32, number, p, edge int) int8 {
	colored[p] |= 1 << edge
	switch closed := s.cliques[p][colored[p]]; {
	case closed && s.variant == Maker:
		return 1
	case closed:
		return -1
	case colored[0]|colored[1] == 1<<s.c.edges-1:
		return 0
	}
	return -s.value[number+(1+p)*s.ternary[1<<edge]]
}

// fill computes the values of the positions in which the edges from one on are colored so, from the largest number to
// the smallest: what a move leads to has a larger number. Any position of a game that is not over can be reached: the
// players have as many edges, or the first has one more, and none has a clique.
func (s *Solution) fill(colored [2]uint32, number, from int) {
	ahead := bits.OnesCount32(colored[0]) - bits.OnesCount32(colored[1])
	if ahead-from > 1 || ahead+from < 0 {
		return
	}
	if from > 0 {
		edge := from - 1
		for player := 1; player >= 0; player-- {
			next := colored
			next[player] |= 1 << edge
			if !s.cliques[player][next[player]] {
				s.fill(next, number+(1+player)*s.ternary[1<<edge], edge)
			}
		}
		s.fill(colored, number, edge)
		return
	}
	free := ^(colored[0] | colored[1]) & (1<<s.c.edges - 1)
	if free == 0 {
		return
	}
	best := int8(-1) // of the first player, or of the second if the first is one edge ahead
	for ; free != 0; free &= free - 1 {
		best = max(best, s.worth(colored, number, ahead, bits.TrailingZeros32(free)))
	}
	s.value[number] = best
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
	colored, number := [2]uint32{first, second}, s.Number(first, second)
	for edge := range s.c.edges {
		if (first|second)>>edge&1 == 0 && int(s.worth(colored, number, mover(colored), edge)) == v {
			moves = append(moves, edge)
		}
	}
	return moves
}

// Table is the values of all colorings by Number, or Unreached.
func (s *Solution) Table() []int8 { return s.value }
