package board

import (
	"fmt"
	"image"
	"iter"
	"math"
	"math/bits"

	"xlarun/envs/draw"
	"xlarun/graph"
)

// coloring is the rules that Clique and Ramsey share.
type coloring struct {
	vertices, edges, words int
	k                      [2]int      // vertices of the cliques that count, for each color
	closes                 [2][]uint32 // [edges, cliques, words]: the other edges of the cliques through an edge
	images                 []uint32    // [edges, words]: the edges that a move colors; nil: only the edge itself
}

// newColoring lists the cliques. k is one size, or one for each color.
func newColoring(vertices int, k []int) (coloring, error) {
	if len(k) == 0 || len(k) > 2 {
		return coloring{}, fmt.Errorf("board: got %d sizes of cliques, want one for both colors or one for each",
			len(k))
	}
	c := coloring{vertices: vertices, edges: vertices * (vertices - 1) / 2, k: [2]int{k[0], k[len(k)-1]}}
	c.words = (c.edges + 31) / 32
	for _, k := range c.k {
		if k < 3 {
			return coloring{},
				fmt.Errorf("board: got cliques of %d vertices, want 3 or more: two vertices are an edge", k)
		}
		if k > vertices {
			return coloring{}, fmt.Errorf("board: got cliques of %d vertices in a graph of %d, want at most %d", k,
				vertices, vertices)
		}
	}
	if vertices > MaxVertices {
		return coloring{}, fmt.Errorf("board: got a graph of %d vertices, want at most %d", vertices, MaxVertices)
	}
	for color, k := range c.k {
		if n := c.edges * c.throughEdge(k) * c.words; n > mostWords {
			return coloring{}, fmt.Errorf("board: got cliques of %d vertices in a graph of %d: listing those "+
				"through each edge takes %d words, want at most %d", k, vertices, n, mostWords)
		}
		if color == 1 && k == c.k[0] {
			c.closes[1] = c.closes[0]
			continue
		}
		c.closes[color] = c.incidence(k)
	}
	return c, nil
}

// mostWords bounds the table of cliques: 64 MB.
const mostWords = 1 << 24

// throughEdge is the number of cliques of k vertices through an edge.
func (c coloring) throughEdge(k int) int {
	n := 1
	for i := range k - 2 {
		n = n * (c.vertices - 2 - i) / (i + 1)
	}
	return n
}

func (c coloring) id(name string) string {
	if c.k[0] == c.k[1] {
		return fmt.Sprintf("%s%d-%d-v1", name, c.vertices, c.k[0])
	}
	return fmt.Sprintf("%s%d-%d.%d-v1", name, c.vertices, c.k[0], c.k[1])
}

// Edge is the number of the edge between the vertices a < b.
func Edge(vertices, a, b int) int { return a*(2*vertices-a-1)/2 + b - a - 1 }

// Ends are the vertices of an edge.
func Ends(vertices, edge int) (a, b int) {
	for a = 0; edge >= vertices-1-a; a++ {
		edge -= vertices - 1 - a
	}
	return a, a + 1 + edge
}

// incidence lists for each edge the cliques of k vertices through it, each as the bits of its other edges.
func (c coloring) incidence(k int) []uint32 {
	table := make([]uint32, 0, c.edges*c.throughEdge(k)*c.words)
	clique := make([]int, k)
	for e := range c.edges {
		a, b := Ends(c.vertices, e)
		var others []int
		for v := range c.vertices {
			if v != a && v != b {
				others = append(others, v)
			}
		}
		choices(others, k-2, func(chosen []int) {
			row := table[len(table) : len(table)+c.words]
			table = table[:len(table)+c.words]
			clique[0], clique[1] = a, b
			copy(clique[2:], chosen)
			for i, x := range clique {
				for _, y := range clique[i+1:] {
					if other := Edge(c.vertices, min(x, y), max(x, y)); other != e {
						row[other/32] |= 1 << (other % 32)
					}
				}
			}
		})
	}
	return table
}

// choices calls f with each subset of n numbers, which the next one overwrites.
func choices(numbers []int, n int, f func(chosen []int)) {
	var choose func(from int, chosen []int)
	choose = func(from int, chosen []int) {
		if len(chosen) == n {
			f(chosen)
			return
		}
		for i := from; i < len(numbers); i++ {
			choose(i+1, append(chosen, numbers[i]))
		}
	}
	choose(0, make([]int, 0, n))
}

func (c coloring) noEdges() Edges {
	return Edges{graph.Zeros(graph.ShapeOf(graph.Uint32, 2, c.words))}
}

// bits unpacks words to bool[edges].
func (c coloring) bits(words *graph.Array) *graph.Array {
	one := graph.Uint32s([]uint32{1}, 1, 1)
	shift := graph.Iota(32).Convert(graph.Uint32).Reshape(1, 32)
	each := graph.ShiftRightLogical(words.Reshape(c.words, 1).BroadcastTo(c.words, 32),
		shift.BroadcastTo(c.words, 32)).And(one)
	return graph.SliceAxis(graph.Flatten1D(each).Ne(0), 0, 0, c.edges)
}

// has is the mask of the edges with the color, bool[edges].
func (c coloring) has(b Edges, color int) *graph.Array {
	return c.bits(b.Colored.Index(color))
}

// free is the mask of the edges without a color, bool[edges].
func (c coloring) free(b Edges) *graph.Array {
	return c.bits(b.Colored.Index(0).Or(b.Colored.Index(1))).Not()
}

// full reports whether every edge has a color: by words, because single bits cost more.
func (c coloring) full(b Edges) *graph.Array {
	every := make([]uint32, c.words)
	for e := range c.edges {
		every[e/32] |= 1 << (e % 32)
	}
	all := graph.Uint32s(every)
	return b.Colored.Index(0).Or(b.Colored.Index(1)).And(all).Eq(all).All()
}

// color colors an edge, and reports whether this closes a clique. It checks only the cliques through the edge.
func (c coloring) color(b Edges, color, edge *graph.Array) (Edges, *graph.Array) {
	set := c.image(edge)
	second := color.Eq(1)
	own := graph.Select(second, b.Colored.Index(1), b.Colored.Index(0)).Or(set)
	first := graph.Iota(2).Eq(color).Reshape(2, 1)
	// Once: what unpacks the words would make them again for each of their bits.
	next := graph.Once(graph.Select(first, own.Reshape(1, c.words).BroadcastTo(2, c.words), b.Colored))

	closed := func(i int) *graph.Array {
		n := c.throughEdge(c.k[i])
		through := graph.DynamicIndex(graph.Uint32s(c.closes[i], c.edges, n*c.words), edge, 0)
		missing := through.Reshape(n, c.words).And(own.Not().Reshape(1, c.words))
		return missing.Eq(0).All(1).Any()
	}
	if c.k[0] == c.k[1] {
		return Edges{next}, closed(0)
	}
	return Edges{next}, graph.Select(second, closed(1), closed(0))
}

// image is the words of the edges that coloring an edge, i32[], colors: u32[words].
func (c coloring) image(edge *graph.Array) *graph.Array {
	if c.images != nil {
		return graph.DynamicIndex(graph.Uint32s(c.images, c.edges, c.words), edge, 0)
	}
	word := graph.Iota(c.words).Eq(graph.ShiftRightArithmetic(edge, 5))
	bit := graph.ShiftLeft(graph.Uint32s([]uint32{1}, 1),
		edge.Mod(32).Convert(graph.Uint32).Reshape(1))
	return graph.Select(word, bit, graph.ZerosLike(bit))
}

// newCanvas makes a canvas for vertices on a circle.
func newCanvas(size image.Point) *draw.Canvas {
	return draw.NewCanvas(size, draw.At(-1.2, -1.2), draw.At(1.2, 1.2))
}

// paint paints the vertices on a circle and the colored edges.
func (c coloring) paint(p *draw.Canvas, words []float64) (image.Image, error) {
	vertex := func(v int) draw.Point { return draw.At(0, 0).Polar(2*math.Pi*float64(v)/float64(c.vertices), 1) }
	for e := range c.edges {
		a, b := Ends(c.vertices, e)
		for color := range 2 {
			if uint32(words[color*c.words+e/32])>>(e%32)&1 == 1 {
				p.Line(colors[color], vertex(a), vertex(b), .03)
			}
		}
	}
	for v := range c.vertices {
		p.Disc(draw.Steel, vertex(v), .07)
	}
	return p.Image()
}

// Canonical is the canonical form of a coloring: of all permutations of its vertices, the first one in the order of
// Solution.Table. Isomorphic colorings have the same form. Errors: more than 8 vertices.
func Canonical(vertices int, first, second uint32) (a, b uint32, err error) {
	if vertices < 0 || vertices > mostCanonical {
		return 0, 0, fmt.Errorf("board.Canonical: got %d vertices, want at most %d: it tries all permutations",
			vertices, mostCanonical)
	}
	permuted := func(set uint32, to []int32) (out uint32) {
		for e, x := range to {
			out |= set >> e & 1 << x
		}
		return out
	}
	less := func(a, b, c, d uint32) bool { // by the last edge whose color differs
		differs := (a ^ c) | (b ^ d)
		last := uint32(1) << (bits.Len32(differs) - 1)
		return a&last|b&last<<1 < c&last|d&last<<1
	}
	a, b = first, second
	for p := range Permutations(vertices) {
		to := Permuted(p)
		if c, d := permuted(first, to), permuted(second, to); (c != a || d != b) && less(c, d, a, b) {
			a, b = c, d
		}
	}
	return a, b, nil
}

const mostCanonical = 8

// Permutations are those of the numbers below n, in lexicographic order.
func Permutations(n int) iter.Seq[[]int] {
	return func(yield func(p []int) bool) {
		var extend func(p []int, used int) bool
		extend = func(p []int, used int) bool {
			if len(p) == n {
				return yield(p)
			}
			for v := range n {
				if used>>v&1 == 0 && !extend(append(p[:len(p):len(p)], v), used|1<<v) {
					return false
				}
			}
			return true
		}
		extend(nil, 0)
	}
}

// Permuted is the permutation of the edges that follows from a permutation of the vertices: edge e becomes edge
// Permuted(p)[e]. It serves to augment training data by the symmetries of the game.
func Permuted(permutation []int) []int32 {
	n := len(permutation)
	out := make([]int32, n*(n-1)/2)
	for e := range out {
		a, b := Ends(n, e)
		x, y := permutation[a], permutation[b]
		out[e] = int32(Edge(n, min(x, y), max(x, y)))
	}
	return out
}
