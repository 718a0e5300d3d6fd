package selfplay

import (
	"math/bits"
	"math/rand/v2"

	"xlarun/envs/board"
)

// perfect is the player that knows what every position is worth, of clique games of few vertices.
type perfect struct {
	solution *board.Solution
	vertices int
	k        [2]int
}

// newPerfect solves the game of a config; nil where it is too large, or another one.
func newPerfect(c *Config) (*perfect, error) {
	if c.Game != clique || c.Variant == ramsey || c.Vertices > board.MostSolved {
		return nil, nil
	}
	v := board.Maker
	if c.Variant == "avoid" {
		v = board.Avoid
	}
	s, err := board.Solve(v, c.Vertices, c.K...)
	if err != nil {
		return nil, err
	}
	return &perfect{s, c.Vertices, [2]int{c.K[0], c.K[len(c.K)-1]}}, nil
}

// colours are the edges of both players, as bits.
type colours [2]uint32

// mover is who moves.
func (c colours) mover() int { return (bits.OnesCount32(c[0]) + bits.OnesCount32(c[1])) % 2 }

func (c colours) with(edge int) colours {
	c[c.mover()] |= 1 << edge
	return c
}

// HasClique tells, by looking at every set of vertices, whether the edges that are given close a clique of k vertices
// in a graph of so many.
func HasClique(vertices, k int, edge func(a, b int) bool) bool {
	var extend func(chosen []int, from int) bool
	extend = func(chosen []int, from int) bool {
		if len(chosen) == k {
			return true
		}
	next:
		for v := from; v < vertices; v++ {
			for _, w := range chosen {
				if !edge(w, v) {
					continue next
				}
			}
			if extend(append(chosen[:len(chosen):len(chosen)], v), v+1) {
				return true
			}
		}
		return false
	}
	return extend(nil, 0)
}

// closed tells whether a player has a clique.
func (p *perfect) closed(c colours, player int) bool {
	return HasClique(p.vertices, p.k[player], func(a, b int) bool {
		return c[player]>>board.Edge(p.vertices, a, b)&1 == 1
	})
}

// won draws positions, of random games, that the player to move can win.
func (p *perfect) won(n int, seed uint64) (all []colours) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	edges := p.vertices * (p.vertices - 1) / 2
	for tries := 0; len(all) < n && tries < 1000*n; tries++ {
		var c colours
		for range r.IntN(edges) {
			free := edges - bits.OnesCount32(c[0]|c[1])
			next := c.with(nth(c, r.IntN(free)))
			if _, goes := p.solution.Value(next[0], next[1]); !goes {
				break
			}
			c = next
		}
		if v, goes := p.solution.Value(c[0], c[1]); goes && v == 1 {
			all = append(all, c)
		}
	}
	return all
}

// nth is the n-th edge without a colour.
func nth(c colours, n int) int {
	taken := c[0] | c[1]
	for e := 0; ; e++ {
		if taken>>e&1 == 0 {
			if n == 0 {
				return e
			}
			n--
		}
	}
}

// reply is a move that keeps a position's value, of these one after which the other one has the fewest moves that keep
// theirs.
func (p *perfect) reply(c colours, r *rand.Rand) int {
	moves := p.solution.Best(c[0], c[1])
	best, fewest := moves[0], 1<<30
	for _, i := range r.Perm(len(moves)) {
		next := c.with(moves[i])
		if n := len(p.solution.Best(next[0], next[1])); n < fewest {
			best, fewest = moves[i], n
		}
	}
	return best
}

// words are a position as the programs take it: board.State of board.Edges, leaf by leaf.
func (c colours) words() []uint32 { return []uint32{c[0], c[1], uint32(c.mover()), 0, 0, 0} }

// kept plays positions to their ends against the perfect player: choose gives the moves of those that move in each. It
// counts the games that they win.
func (p *perfect) kept(positions []colours, choose func(at []colours) ([]int, error)) (won int, err error) {
	r := rand.New(rand.NewPCG(3, uint64(len(positions))))
	type playing struct {
		at   colours
		side int
	}
	var going []playing
	for _, c := range positions {
		going = append(going, playing{c, c.mover()})
	}
	for len(going) > 0 {
		at := make([]colours, len(going))
		for i, g := range going {
			at[i] = g.at
		}
		moves, err := choose(at)
		if err != nil {
			return won, err
		}
		var next []playing
		for i, g := range going {
			for side, goes := g.side, true; goes; side = 1 - side {
				move := moves[i]
				if side != g.side {
					move = p.reply(g.at, r)
				}
				if (g.at[0]|g.at[1])>>move&1 == 1 {
					break // an illegal move loses
				}
				g.at = g.at.with(move)
				if _, goes = p.solution.Value(g.at[0], g.at[1]); !goes {
					closes := p.closed(g.at, side)
					if avoid := p.solution.Variant() == board.Avoid; closes && (side == g.side) != avoid {
						won++
					}
				} else if side != g.side {
					next = append(next, g)
					break
				}
			}
		}
		going = next
	}
	return won, nil
}
