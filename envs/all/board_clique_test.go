package all_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/board"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
)

// Digests are of the tables that this solver made. Sim (case 6) is won by the second player, as Mead, Rosa and Huang
// found ("The game of Sim: a winning strategy for the second player", 1974). The short form solves Sim alone of the
// games of six vertices.
func TestSolutions(t *testing.T) {
	for number, c := range []struct {
		variant  board.Variant
		vertices int
		k        []int
		value    int
		digest   string
	}{
		{board.Maker, 3, []int{3}, 0, "652655ea8a839085"},
		{board.Maker, 4, []int{3}, 0, "ed8486df5fbf9d67"},
		{board.Maker, 5, []int{3}, 1, "74687460fb2d8a6b"},
		{board.Maker, 6, []int{3}, 1, "c39bc1907b3c9add"},
		{board.Maker, 6, []int{4}, 0, "06bb580d096868e4"},
		{board.Avoid, 5, []int{3}, 0, "490cace873a7dfd0"},
		{board.Avoid, 6, []int{3}, -1, "b78b877b383ae06c"},
		{board.Avoid, 6, []int{3, 4}, -1, "fa6b9478895bad26"},
	} {
		if c.vertices == 6 && number != 6 && !long.On() {
			continue
		}
		s, err := board.Solve(c.variant, c.vertices, c.k...)
		require.NoError(t, err)
		text := make([]byte, len(s.Table()))
		for i, v := range s.Table() {
			text[i] = byte(v)
		}
		require.Equal(t, c.digest, fmt.Sprintf("%x", sha256.Sum256(text))[:16], "case %d", number)
		v, ok := s.Value(0, 0)
		require.True(t, ok, "case %d", number)
		require.Equal(t, c.value, v, "case %d", number)
		require.NotEmpty(t, s.Best(0, 0), "case %d", number)
	}
}

// plain is a simple implementation of a clique game: a matrix of colors.
type plain struct {
	n     int
	color [][]int // -1: none
	moves int
	sets  [2][][]int // the cliques of each player
}

func newPlain(n int, k ...int) *plain {
	p := &plain{n: n, sets: [2][][]int{subsets(n, k[0]), subsets(n, k[len(k)-1])}}
	for range n {
		row := make([]int, n)
		for i := range row {
			row[i] = -1
		}
		p.color = append(p.color, row)
	}
	return p
}

func (p *plain) play(edge, color int) {
	a, b := board.Ends(p.n, edge)
	p.color[a][b], p.color[b][a] = color, color
	p.moves++
}

// subsets are the sets of k of n numbers.
func subsets(n, k int) (all [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for last := range n {
		for _, others := range subsets(last, k-1) {
			all = append(all, append(others, last))
		}
	}
	return all
}

// hasClique checks all sets of vertices.
func (p *plain) hasClique(color int) bool {
	for _, set := range p.sets[color] {
		whole := true
		for i, a := range set {
			for _, b := range set[i+1:] {
				whole = whole && p.color[a][b] == color
			}
		}
		if whole {
			return true
		}
	}
	return false
}

// The values of all positions of a small game equal those of a plain search: in the short form of two games.
func TestSolutionsByRulesAlone(t *testing.T) {
	for _, variant := range []board.Variant{board.Maker, board.Avoid} {
		for _, k := range [][]int{{3}, {3, 4}} {
			const n, edges = 5, 10
			if (variant == board.Maker) != (len(k) == 1) && !long.On() {
				continue
			}
			s, err := board.Solve(variant, n, k...)
			require.NoError(t, err)
			known := map[string]int{}
			var value func(p *plain) int
			value = func(p *plain) int {
				key := fmt.Sprint(p.color)
				if v, ok := known[key]; ok {
					return v
				}
				best, player := -1, p.moves%2
				var set [2]uint32
				for e := range edges {
					a, b := board.Ends(n, e)
					if c := p.color[a][b]; c >= 0 {
						set[c] |= 1 << e
						continue
					}
					p.play(e, player)
					switch {
					case p.hasClique(player) && variant == board.Maker:
						best = 1
					case p.hasClique(player):
					case p.moves == edges:
						best = max(best, 0)
					default:
						best = max(best, -value(p))
					}
					p.color[a][b], p.color[b][a] = -1, -1
					p.moves--
				}
				known[key] = best
				got, ok := s.Value(set[0], set[1])
				require.True(t, ok)
				require.Equal(t, best, got, "%v %v", variant, p.color)
				return best
			}
			value(newPlain(n, k...))
			count := 0
			for _, v := range s.Table() {
				if v != board.Unreached {
					count++
				}
			}
			require.Equal(t, len(known), count, "reachable positions")
		}
	}
}

// Games end at the same move and with the same result as in a plain loop over all cliques.
func TestCliqueGamesByRulesAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	for _, c := range []struct {
		variant board.Variant
		n       int
		k       []int
		games   int
	}{{board.Maker, 6, []int{3}, 8}, {board.Avoid, 6, []int{3}, 8}, {board.Maker, 9, []int{3, 4}, 6},
		{board.Avoid, 9, []int{5, 4}, 3},
		{board.Maker, 14, []int{4}, 2}, {board.Maker, 4, []int{4}, 2}} {
		g, err := board.Clique(c.variant, c.n, c.k...)
		require.NoError(t, err)
		edges := g.Spec().MaxSteps
		for range c.games {
			order := r.Perm(edges)
			actions := make([]int32, edges)
			for i, e := range order {
				actions[i] = int32(e)
			}
			type seen struct{ Reward, Over, Player *graph.Array }
			f := func(actions *graph.Array) seen {
				s, _ := g.Reset(random.New(0), board.Params{})
				_, out := graph.Scan(func(s board.State[board.Edges], a *graph.Array) (board.State[board.Edges], seen) {
					next, _, reward, over, _ := g.Step(random.New(0), s, a, board.Params{})
					return next, seen{reward, over, s.Player}
				}, s, actions)
				return out
			}
			p, err := graph.Trace("game", f, graph.Int32s(actions))
			require.NoError(t, err)
			leaves, err := p.Interpret([]*graph.Array{graph.Int32s(actions)}, nil)
			require.NoError(t, err)
			out, _ := p.OutTree().Unflatten(leaves).(seen)
			rewards := graphtest.Floats(t, out.Reward)
			over := graphtest.Floats(t, out.Over)
			rules, ended := newPlain(c.n, c.k...), false
			for i, e := range order {
				want := 0.
				if !ended {
					rules.play(e, i%2)
					if rules.hasClique(i % 2) {
						ended, want = true, map[board.Variant]float64{board.Maker: 1, board.Avoid: -1}[c.variant]
					}
					ended = ended || i == edges-1
				}
				require.Equal(t, want, rewards[i], "%v %d %v, move %d", c.variant, c.n, c.k, i)
				require.Equal(t, ended, over[i] == 1, "%v %d %v, move %d", c.variant, c.n, c.k, i)
			}
		}
	}
}

// R(3, 3) = 6: some coloring of K_5 has no triangle of one color, every one of K_6 has.
func TestRamseyByPlainLoops(t *testing.T) {
	without := func(n int) int {
		edges, found := n*(n-1)/2, 0
		for set := range 1 << edges {
			mono := false
			for a := range n {
				for b := a + 1; b < n; b++ {
					for c := b + 1; c < n; c++ {
						x, y, z := set>>board.Edge(n, a, b)&1, set>>board.Edge(n, a, c)&1, set>>board.Edge(n, b, c)&1
						mono = mono || x == y && y == z
					}
				}
			}
			if !mono {
				found++
			}
		}
		return found
	}
	require.Equal(t, 12, without(5)) // both colors are cycles of five
	require.Equal(t, 0, without(6))
}

// A coloring of K_5 in two cycles solves the puzzle, a triangle ends it, and so does an edge that has its color.
func TestRamsey(t *testing.T) {
	g, err := board.Ramsey(5, 3)
	require.NoError(t, err)
	require.NoError(t, envtest.Check(envs.Erase(g)))
	play := func(actions ...int) (total float64, over bool) {
		s, _ := g.Reset(random.New(0), board.Params{})
		for _, a := range actions {
			var reward, terminated *graph.Array
			s, _, reward, terminated, _ = g.Step(random.New(0), s, graph.Of(int32(a)), board.Params{})
			x, err := graph.Float(reward)
			require.NoError(t, err)
			y, err := graph.Float(terminated.Convert(graph.Float32))
			require.NoError(t, err)
			total, over = total+x, y == 1
		}
		return total, over
	}
	var cycles []int
	for e := range 10 {
		if a, b := board.Ends(5, e); b-a == 1 || b-a == 4 {
			cycles = append(cycles, e)
		} else {
			cycles = append(cycles, 10+e)
		}
	}
	total, over := play(cycles...)
	require.InDelta(t, 1, total, 1e-6)
	require.True(t, over)
	total, over = play(board.Edge(5, 0, 1), board.Edge(5, 1, 2), board.Edge(5, 0, 2), 3)
	require.InDelta(t, .2, total, 1e-6)
	require.True(t, over)
	total, over = play(4, 14)
	require.InDelta(t, .1, total, 1e-6)
	require.True(t, over)
}

// A move of a rotated puzzle is the moves at all images of its edge. It ends the puzzle if one of them closes a clique.
func TestRotatedRamseyIsRamseyAtAllImages(t *testing.T) {
	for number, c := range []struct{ vertices, k, step int }{{5, 3, 1}, {6, 3, 3}, {8, 3, 2}, {8, 4, 8}, {9, 4, 3}} {
		plain, err := board.Ramsey(c.vertices, c.k)
		require.NoError(t, err)
		g, err := plain.Rotated(c.step)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, uint64(number)))
		edges := c.vertices * (c.vertices - 1) / 2
		if number < 3 {
			require.NoError(t, envtest.Check(envs.Erase(g)))
		}
		s, _ := g.Reset(random.New(0), board.Params{})
		sets := subsets(c.vertices, c.k)
		set, moves := [2]uint64{}, 0
		for over := false; !over; moves++ {
			open := graphtest.Floats(t, g.Open(s).Convert(graph.Float32))
			free := r.IntN(edges)
			for (set[0]|set[1])>>free&1 == 1 {
				free = (free + 1) % edges
			}
			color := r.IntN(2)
			count := 0
			for by := 0; by < c.vertices; by += c.step {
				a, b := board.Ends(c.vertices, free)
				a, b = (a+by)%c.vertices, (b+by)%c.vertices
				image := board.Edge(c.vertices, min(a, b), max(a, b))
				count += int(1 - set[color]>>image&1)
				set[color] |= 1 << image
			}
			closed := false
			for _, chosen := range sets {
				mono := true
				for i, b := range chosen {
					for _, a := range chosen[:i] {
						mono = mono && set[color]>>board.Edge(c.vertices, a, b)&1 == 1
					}
				}
				closed = closed || mono
			}
			require.Equal(t, !closed, open[color*edges+free] == 1, "case %d, move %d", number, moves)
			var reward, terminated *graph.Array
			s, _, reward, terminated, _ = g.Step(random.New(0), s, graph.Of(int32(color*edges+free)), board.Params{})
			got, err := graph.Float(reward)
			require.NoError(t, err)
			want := float64(count) / float64(edges)
			if closed {
				want = 0
			}
			require.InDelta(t, want, got, 1e-6, "case %d, move %d", number, moves)
			ended, err := graph.Float(terminated.Convert(graph.Float32))
			require.NoError(t, err)
			over = closed || set[0]|set[1] == 1<<edges-1
			require.Equal(t, over, ended == 1, "case %d, move %d", number, moves)
		}
		require.LessOrEqual(t, moves, g.Spec().MaxSteps)
		for _, bad := range []int{-1, 0, c.vertices + 1} {
			_, err := plain.Rotated(bad)
			require.ErrorContains(t, err, "want a divisor")
		}
	}
}

func TestSizesThatAreRefused(t *testing.T) {
	for number, c := range []struct {
		variant  board.Variant
		vertices int
		k        []int
		want     string
	}{
		{board.Maker, 5, []int{6}, "cliques of 6 vertices in a graph of 5"},
		{board.Maker, 5, []int{2}, "cliques of 2 vertices, want 3 or more"},
		{board.Maker, 5, nil, "got 0 sizes of cliques"},
		{board.Maker, 5, []int{3, 3, 3}, "got 3 sizes"},
		{board.Maker, 33, []int{3}, "at most 32"},
		{board.Maker, 32, []int{16}, "takes"},
		{board.Variant(2), 5, []int{3}, "want Maker or Avoid"},
		{board.Maker, -1, []int{3}, "cliques of 3 vertices in a graph of -1"},
	} {
		_, err := board.Clique(c.variant, c.vertices, c.k...)
		require.ErrorContains(t, err, c.want, "case %d", number)
	}
	_, err := board.Ramsey(5, 6)
	require.ErrorContains(t, err, "in a graph of 5")
	_, err = board.Solve(board.Maker, 7, 3)
	require.ErrorContains(t, err, "at most 6")
	_, err = board.Solve(board.Maker, 4, 5)
	require.ErrorContains(t, err, "in a graph of 4")
}

// A game with other names for its vertices is the same game.
func TestPermuted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s, err := board.Solve(board.Maker, 5, 3)
	require.NoError(t, err)
	for range 20 {
		to := board.Permuted(r.Perm(5))
		for e := range to {
			require.Contains(t, to, int32(e))
		}
		var set, moved [2]uint32
		for i, e := range r.Perm(10)[:4] {
			set[i%2] |= 1 << e
			moved[i%2] |= 1 << to[e]
		}
		v, ok := s.Value(set[0], set[1])
		w, also := s.Value(moved[0], moved[1])
		require.Equal(t, v, w)
		require.Equal(t, ok, also)
	}
	for e := range 91 {
		a, b := board.Ends(14, e)
		require.Less(t, a, b)
		require.Equal(t, e, board.Edge(14, a, b))
	}
}

// An edge of each color in K_4: there are two such colorings up to the vertices' names, as the edges touch or not.
func TestCanonical(t *testing.T) {
	seen := map[[2]uint32]int{}
	for e := range 6 {
		for f := range 6 {
			if e != f {
				a, b, err := board.Canonical(4, 1<<e, 1<<f)
				require.NoError(t, err)
				again, too, err := board.Canonical(4, a, b)
				require.NoError(t, err)
				require.Equal(t, [2]uint32{a, b}, [2]uint32{again, too})
				seen[[2]uint32{a, b}]++
			}
		}
	}
	require.Len(t, seen, 2)
	for _, n := range seen {
		require.Contains(t, []int{6, 24}, n)
	}
	s, err := board.Solve(board.Avoid, 5, 3)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		var set [2]uint32
		for i, e := range r.Perm(10)[:5] {
			set[i%2] |= 1 << e
		}
		a, b, err := board.Canonical(5, set[0], set[1])
		require.NoError(t, err)
		require.LessOrEqual(t, s.Number(a, b), s.Number(set[0], set[1]))
		v, ok := s.Value(set[0], set[1])
		w, also := s.Value(a, b)
		require.Equal(t, v, w)
		require.Equal(t, ok, also)
	}
	_, _, err = board.Canonical(9, 0, 0)
	require.ErrorContains(t, err, "at most 8")
}
