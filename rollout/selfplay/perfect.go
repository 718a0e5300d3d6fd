package selfplay

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"xlarun/envs/board"
)

// perfect is a player who knows the value of every position, for clique games of few vertices.
type perfect struct {
	solution func() *board.Solution // solves the game at its first call
	vertices int
	k        [2]int
}

// newPerfect returns the perfect player of a checked config. It returns nil if the game is too large, or not a clique
// game for two players.
func newPerfect(c *Config) *perfect {
	if c.Game != clique || c.Variant == ramsey || c.Vertices > board.MostSolved {
		return nil
	}
	v := board.Maker
	if c.Variant == "avoid" {
		v = board.Avoid
	}
	return &perfect{sync.OnceValue(func() *board.Solution {
		s, err := board.Solve(v, c.Vertices, c.K...)
		if err != nil {
			panic(err) // the config was checked
		}
		return s
	}), c.Vertices, [2]int{c.K[0], c.K[len(c.K)-1]}}
}

// colors is a position: the edges of both players, as bits.
type colors [2]uint32

// mover returns the player to move.
func (c colors) mover() int { return (bits.OnesCount32(c[0]) + bits.OnesCount32(c[1])) % 2 }

func (c colors) with(edge int) colors {
	c[c.mover()] |= 1 << edge
	return c
}

// hasClique reports whether a graph has a clique of k vertices. It looks at every set of vertices.
func hasClique(vertices, k int, edge func(a, b int) bool) bool {
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

// closed reports whether a player has a clique.
func (p *perfect) closed(c colors, player int) bool {
	return hasClique(p.vertices, p.k[player], func(a, b int) bool {
		return c[player]>>board.Edge(p.vertices, a, b)&1 == 1
	})
}

// won draws n positions of random games that the player to move can win.
func (p *perfect) won(n int, seed uint64) (all []colors) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	edges := p.vertices * (p.vertices - 1) / 2
	for tries := 0; len(all) < n && tries < 1000*n; tries++ {
		var c colors
		for range r.IntN(edges) {
			free := edges - bits.OnesCount32(c[0]|c[1])
			next := c.with(nth(c, r.IntN(free)))
			if p.over(next) {
				break
			}
			c = next
		}
		if v, goesOn := p.solution().Value(c[0], c[1]); goesOn && v == 1 {
			all = append(all, c)
		}
	}
	return all
}

// classes returns all positions of reachable games that the player to move can win, one of each class. Permutations of
// the vertices turn the positions of a class into each other.
func (p *perfect) classes() (all []colors, err error) {
	edges := p.vertices * (p.vertices - 1) / 2
	for level := map[colors]bool{{}: true}; len(level) > 0; {
		next := map[colors]bool{}
		for c := range level {
			if v, _ := p.solution().Value(c[0], c[1]); v == 1 {
				all = append(all, c)
			}
			for e := range edges {
				if (c[0]|c[1])>>e&1 == 1 {
					continue
				}
				d := c.with(e)
				if p.over(d) {
					continue
				}
				a, b, err := board.Canonical(p.vertices, d[0], d[1])
				if err != nil {
					return nil, err
				}
				next[colors{a, b}] = true
			}
		}
		level = next
	}
	sort.Slice(all, func(i, j int) bool { return slices.Compare(all[i][:], all[j][:]) < 0 })
	return all, nil
}

// nth returns the n-th edge without a color.
func nth(c colors, n int) int {
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

// reply returns a move that keeps the position's value. Of these it takes one after which the opponent has the fewest
// moves that keep theirs.
func (p *perfect) reply(c colors, r *rand.Rand) int {
	moves := p.solution().Best(c[0], c[1])
	best, fewest := moves[0], 1<<30
	for _, i := range r.Perm(len(moves)) {
		next := c.with(moves[i])
		if n := len(p.solution().Best(next[0], next[1])); n < fewest {
			best, fewest = moves[i], n
		}
	}
	return best
}

// words returns the words of the position's state: board.State of board.Edges, leaf by leaf.
func (c colors) words() []uint32 { return []uint32{c[0], c[1], uint32(c.mover()), 0, 0, 0} }

// gamesWon plays games from positions against the perfect player, and returns how many the player to move wins. choose
// returns that player's moves in positions.
func (p *perfect) gamesWon(positions []colors, choose func(positions []colors) ([]int, error)) (won int, err error) {
	r := rand.New(rand.NewPCG(3, uint64(len(positions))))
	for len(positions) > 0 {
		moves, err := choose(positions)
		if err != nil {
			return won, err
		}
		var next []colors
		for i, c := range positions {
			c, over, wins := p.exchange(c, moves[i], r)
			if wins {
				won++
			}
			if !over {
				next = append(next, c)
			}
		}
		positions = next
	}
	return won, nil
}

// exchange plays a move and the perfect player's reply. wins: the player of the move has won. An illegal move loses.
func (p *perfect) exchange(c colors, move int, r *rand.Rand) (next colors, over, wins bool) {
	if (c[0]|c[1])>>move&1 == 1 {
		return c, true, false
	}
	player, avoid := c.mover(), p.solution().Variant() == board.Avoid
	if c = c.with(move); p.over(c) {
		return c, true, !avoid && p.closed(c, player)
	}
	if c = c.with(p.reply(c, r)); p.over(c) {
		return c, true, avoid && p.closed(c, 1-player)
	}
	return c, false, false
}

// over reports whether the game is over.
func (p *perfect) over(c colors) bool {
	_, goesOn := p.solution().Value(c[0], c[1])
	return !goesOn
}
