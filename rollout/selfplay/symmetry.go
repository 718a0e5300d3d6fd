package selfplay

import (
	"math/rand/v2"

	"xlarun/envs/board"
	"xlarun/graph"
)

// symmetries are the ways in which a game can be shown without becoming another one. Cell i of a position shown by
// symmetry s is cell Cells[s][i], action a is action Actions[s][a]. Cells are what stands on all but the last axis of
// an observation.
type symmetries struct {
	cells, actions [][]int32
}

// mostPermutations bounds the permutations of vertices: of six there are 720, of larger graphs so many are drawn.
const mostPermutations = 1024

func symmetriesOf(c *Config, g *game) (s symmetries) {
	turns := func(height, width int, all bool) {
		for i := range 8 {
			if !all && i != 0 && i != 4 { // the board as it is, and its mirror image
				continue
			}
			cells := make([]int32, height*width)
			for at := range cells {
				y, x := at/width, at%width
				if i&4 != 0 {
					x = width - 1 - x
				}
				for range i & 3 {
					y, x = x, height-1-y
				}
				cells[at] = int32(y*width + x)
			}
			s.cells = append(s.cells, cells)
		}
	}
	switch {
	case !c.Symmetries:
	case c.Game == clique:
		return permutations(g)
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

// permutations are those of a graph's vertices, the identity first: all of six, else some that are drawn.
func permutations(g *game) (s symmetries) {
	edges := g.vertices * (g.vertices - 1) / 2
	add := func(p []int) {
		to := board.Permuted(p)
		s.cells = append(s.cells, to)
		actions := make([]int32, 0, g.actions)
		for at := 0; at < g.actions; at += edges { // of a puzzle in either colour
			for _, e := range to {
				actions = append(actions, e+int32(at))
			}
		}
		s.actions = append(s.actions, actions)
	}
	if g.vertices <= 6 {
		var extend func(p []int)
		extend = func(p []int) {
			if len(p) == g.vertices {
				add(p)
				return
			}
		next:
			for v := range g.vertices {
				for _, taken := range p {
					if v == taken {
						continue next
					}
				}
				extend(append(p[:len(p):len(p)], v))
			}
		}
		extend(nil)
		return s
	}
	r := rand.New(rand.NewPCG(1, uint64(g.vertices)))
	identity := make([]int, g.vertices)
	for v := range identity {
		identity[v] = v
	}
	add(identity)
	for range mostPermutations - 1 {
		add(r.Perm(g.vertices))
	}
	return s
}

// count is how many there are; 0: the game is shown as it is.
func (s symmetries) count() int { return len(s.cells) }

// tables are i32[count, cells] and i32[count, actions].
func (s symmetries) tables() (cells, actions *graph.Array) {
	join := func(rows [][]int32) *graph.Array {
		var all []int32
		for _, r := range rows {
			all = append(all, r...)
		}
		return graph.Int32s(all, len(rows), len(rows[0]))
	}
	return join(s.cells), join(s.actions)
}

// permuteKernel is permuted on a CPU, where a compiled gather takes several nanoseconds an element. Planes come one
// behind the other, as vectors write them.
var permuteKernel = &graph.Kernel{Target: "xlarun_permute", Leading: true}

// permuted are examples [n, cells…, features], or [n, cells] where that is their shape, with their cells in the order
// that a row of the table, i32[count, cells], has; which row it is for each, i32[n].
func permute(examples, table, which *graph.Array) *graph.Array {
	n, cells := which.Dim(0), table.Dim(1)
	planes := graph.Transpose(graph.Reshape(examples, n, cells, examples.Size()/max(1, n*cells)), 0, 2, 1)
	out := graph.WithKernel(permuteKernel, func(in []*graph.Array) []*graph.Array {
		return []*graph.Array{graph.VMap2(func(planes, which *graph.Array) *graph.Array {
			return graph.Transpose(graph.Take(planes, graph.DynamicIndex(in[1], which, 0), 1))
		})(in[0], in[2])}
	}, planes, table, which)[0]
	return graph.Reshape(out, examples.Dims()...)
}
