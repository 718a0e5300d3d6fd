package selfplay

import (
	"math/rand/v2"
	"slices"

	"xlarun/envs/board"
	"xlarun/graph"
)

// symmetries are the symmetries of a game. Under symmetry s, cell i of an observation is cell cells[s][i], and action a
// is action actions[s][a]. Cells are the elements of all axes of an observation except the last.
type symmetries struct {
	cells, actions [][]int32
}

// maxPermutations is the number of permutations of vertices that are drawn for large graphs. Six vertices have 720.
const maxPermutations = 1024

func symmetriesOf(c *Config, g *game) (s symmetries) {
	turns := func(height, width int, all bool) {
		for i := range 8 {
			if !all && i != 0 && i != 4 { // the identity and the mirror image
				continue
			}
			cells := make([]int32, height*width)
			for cell := range cells {
				y, x := cell/width, cell%width
				if i&4 != 0 {
					x = width - 1 - x
				}
				for range i & 3 {
					y, x = x, height-1-y
				}
				cells[cell] = int32(y*width + x)
			}
			s.cells = append(s.cells, cells)
		}
	}
	switch {
	case !c.Symmetries:
	case c.Game == clique:
		return permutations(g, c.Rotation > 0)
	case c.Game == "tictactoe":
		turns(3, 3, true)
		s.actions = s.cells
	case c.Game == "connectfour":
		turns(6, 7, false)
		for _, cells := range s.cells { // of the top row
			s.actions = append(s.actions, cells[:7])
		}
	case c.Game == "othello":
		turns(8, 8, true)
		for _, cells := range s.cells {
			s.actions = append(s.actions, append(cells[:64:64], 64))
		}
	}
	return s
}

// permutations returns the symmetries of a game on a graph, the identity first: those of all permutations of its
// vertices if there are at most six, else of some that are drawn. If colorings are kept by rotations, so must their
// images be.
func permutations(g *game, rotated bool) (s symmetries) {
	of := drawnPermutations
	switch {
	case rotated:
		of = affinePermutations
	case g.vertices <= 6:
		of = func(n int) [][]int { return slices.Collect(board.Permutations(n)) }
	}
	edges := g.vertices * (g.vertices - 1) / 2
	for _, p := range of(g.vertices) {
		to := board.Permuted(p)
		s.cells = append(s.cells, to)
		actions := make([]int32, 0, g.actions)
		for first := 0; first < g.actions; first += edges { // a puzzle has the edges in both colors
			for _, e := range to {
				actions = append(actions, e+int32(first))
			}
		}
		s.actions = append(s.actions, actions)
	}
	return s
}

// affinePermutations returns the permutations v to factor v + shift, modulo n, for all factors that have no divisor in
// common with n.
func affinePermutations(n int) (all [][]int) {
	for factor := range n {
		for shift := range n {
			p := make([]int, n)
			for v := range p {
				p[v] = (factor*v + shift) % n
			}
			if slices.Max(countsOf(p)) == 1 { // factor has an inverse
				all = append(all, p)
			}
		}
	}
	return all
}

// drawnPermutations returns the identity and permutations that are drawn, maxPermutations in all.
func drawnPermutations(n int) [][]int {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	identity := make([]int, n)
	for v := range identity {
		identity[v] = v
	}
	all := [][]int{identity}
	for range maxPermutations - 1 {
		all = append(all, r.Perm(n))
	}
	return all
}

// countsOf returns how often p has each of the numbers below its length.
func countsOf(p []int) []int {
	counts := make([]int, len(p))
	for _, v := range p {
		counts[v]++
	}
	return counts
}

// count returns the number of symmetries; 0: observations stay as they are.
func (s symmetries) count() int { return len(s.cells) }

// tables returns i32[count, cells] and i32[count, actions].
func (s symmetries) tables() (cells, actions *graph.Array) {
	join := func(rows [][]int32) *graph.Array {
		return graph.Int32s(slices.Concat(rows...), len(rows), len(rows[0]))
	}
	return join(s.cells), join(s.actions)
}

// permuteKernel is permute on a CPU, where a compiled gather takes several nanoseconds an element. Planes follow each
// other, because vectors write whole planes.
var permuteKernel = &graph.Kernel{Target: "xlarun_permute", Leading: true}

// permute returns examples, [n, cells…, features] or [n, cells], with their cells reordered. Example i has the order
// table[which[i]]. table is i32[count, cells], which is i32[n].
func permute(examples, table, which *graph.Array) *graph.Array {
	n, cells := which.Dim(0), table.Dim(1)
	planes := examples.Reshape(n, cells, examples.Size()/max(1, n*cells)).Transpose(0, 2, 1)
	out := graph.WithKernel(permuteKernel, func(in []*graph.Array) []*graph.Array {
		return []*graph.Array{graph.VMap2(func(planes, which *graph.Array) *graph.Array {
			return graph.Take(planes, graph.DynamicIndex(in[1], which, 0), 1).Transpose()
		})(in[0], in[2])}
	}, planes, table, which)[0]
	return out.Reshape(examples.Dims()...)
}
