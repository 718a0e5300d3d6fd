package board

import (
	"fmt"
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	envs.MustRegister(must(Clique(Maker, 6, 3)))
	envs.MustRegister(must(Clique(Maker, 14, 4)))
	envs.MustRegister(must(Clique(Avoid, 6, 3)))
	envs.MustRegister(must(Ramsey(5, 3)))
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err) // sizes of this file
	}
	return x
}

// Variant is the result of closing a clique of your own color.
type Variant int

const (
	Maker Variant = iota // it wins
	Avoid                // it loses; with 6 vertices and triangles this is Sim (Simmons, 1969)
)

func (v Variant) String() string { return []string{"maker", "avoid"}[v] }

// MaxVertices is the largest number of vertices.
const MaxVertices = 32

// Edges is the coloring of a complete graph: bit e of a color's words is 1 if edge e has the color. The order of the
// edges is (0, 1), (0, 2), …, (1, 2), …
type Edges struct {
	Colored *graph.Array // u32[2, words]
}

// Clique is a game on a complete graph with the given number of vertices. In each move a player colors one edge, the
// action, in its own color. The first player who closes a clique of k vertices in its own color wins (Maker) or loses
// (Avoid). k is one number for both players, or one for each. Observation f32[edges, 3]: your edges, the opponent's
// edges, ones for player 1. Registered as Clique-6-3-v1, Clique-14-4-v1 and Clique-avoid-6-3-v1. Errors: vertices or k
// out of range.
func Clique(v Variant, vertices int, k ...int) (Game[Edges], error) {
	c, err := newColoring(vertices, k)
	if err == nil && (v < Maker || v > Avoid) {
		err = fmt.Errorf("board.Clique: got the variant %d, want Maker or Avoid", int(v))
	}
	if err != nil {
		return Game[Edges]{}, err
	}
	name := ""
	if v == Avoid {
		name = "avoid-"
	}
	return newGame(c.id("Clique-"+name), c.edges, c.edges, []int{c.edges, 3}, rules[Edges](cliqueRules{c, v})), nil
}

type cliqueRules struct {
	coloring
	variant Variant
}

func (r cliqueRules) start() Edges { return r.noEdges() }

func (r cliqueRules) legal(b Edges, _ *graph.Array) *graph.Array { return r.free(b) }

func (r cliqueRules) move(b Edges, player, action *graph.Array) moved[Edges] {
	next, closed := r.color(b, player, action)
	m := moved[Edges]{board: next, ends: closed.Or(r.full(next)), wins: closed}
	if r.variant == Avoid {
		m.wins, m.loses = envs.False(), closed
	}
	return m
}

func (r cliqueRules) observe(b Edges, player *graph.Array) *graph.Array {
	second := player.Ne(0)
	colors := graph.Select(second, graph.Reverse(b.Colored, 0), b.Colored)
	all := graph.Select(second, graph.Uint32s([]uint32{math.MaxUint32}), graph.Uint32s([]uint32{0}))
	words := graph.Once(graph.Concatenate(0, colors, all.BroadcastTo(1, r.words)))
	return graph.VMap(r.bits)(words).Transpose(1, 0).Convert(graph.Float32)
}

func (r cliqueRules) draw(id string, state any, size image.Point) (image.Image, error) {
	c := newCanvas(size)
	return r.paint(c, draw.Grid(c, id, state, func(s State[Edges]) *graph.Array { return s.Board.Colored }, 2, r.words))
}

// RamseyGame is the puzzle that Ramsey makes.
type RamseyGame struct {
	coloring
	spec envs.Spec
}

// RamseyState is a coloring, and whether the puzzle is over.
type RamseyState struct {
	Board Edges
	Over  *graph.Array // bool[]
	Time  *graph.Array // i32[]
}

// Ramsey is a puzzle for one player: color all edges of a complete graph in two colors without closing a clique of
// k[0] vertices in the first color or k[1] vertices in the second. With a single k it holds for both. Action e colors
// edge e in the first color, action edges + e in the second. Each edge gives a reward of 1 / edges, so that a return
// of 1 is a complete coloring. A clique ends the episode without a reward, as does coloring an edge again.
// Observation f32[edges, 2]. Registered as Ramsey-5-3-v1. Errors: vertices or k out of range.
func Ramsey(vertices int, k ...int) (RamseyGame, error) {
	c, err := newColoring(vertices, k)
	if err != nil {
		return RamseyGame{}, err
	}
	box := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{c.edges, 2}, DType: graph.Float32}
	return RamseyGame{c, envs.Spec{ID: c.id("Ramsey-"), Observation: box, Action: envs.Discrete{N: 2 * c.edges},
		MaxSteps: c.edges, LegalMask: true}}, nil
}

// Spec of the puzzle.
func (r RamseyGame) Spec() envs.Spec { return r.spec }

// DefaultParams are empty.
func (RamseyGame) DefaultParams() Params { return Params{} }

// Reset removes all colors.
func (r RamseyGame) Reset(_ random.Key, p Params) (RamseyState, *graph.Array) {
	s := RamseyState{r.noEdges(), envs.False(), envs.Steps(0)}
	return s, r.Observe(s, p)
}

// Step colors an edge.
func (r RamseyGame) Step(_ random.Key, s RamseyState, action *graph.Array,
	p Params) (next RamseyState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(r.spec, action)
	second := action.Ge(r.edges)
	edge := action.Sub(graph.Select(second, r.edges, 0))
	free := r.free(s.Board).And(graph.Iota(r.edges).Eq(edge)).Any()
	board, closed := r.color(s.Board, second.Convert(graph.Int32), edge)
	fails := free.Not().Or(closed)
	next = RamseyState{Board: graph.SelectTree(s.Over, s.Board, board), Time: s.Time.Add(1)}
	full := r.full(next.Board)
	next.Over = s.Over.Or(fails.Or(full))
	reward = graph.Select(s.Over.Or(fails), 0., r.share(edge))
	return next, r.Observe(next, p), reward, next.Over, envs.False()
}

// Observe is both colors.
func (r RamseyGame) Observe(s RamseyState, _ Params) *graph.Array {
	return graph.Stack([]*graph.Array{r.has(s.Board, 0), r.has(s.Board, 1)}, 1).Convert(graph.Float32)
}

// Legal is the mask of the edges without a color, once for each color; all true after the end.
func (r RamseyGame) Legal(s RamseyState, _ Params) *graph.Array {
	free := r.free(s.Board)
	return s.Over.Or(graph.Concatenate(0, free, free))
}

// Draw paints the graph.
func (r RamseyGame) Draw(state any, size image.Point) (image.Image, error) {
	c := newCanvas(size)
	return r.paint(c, draw.Grid(c, r.spec.ID, state, func(s RamseyState) *graph.Array { return s.Board.Colored }, 2,
		r.words))
}
