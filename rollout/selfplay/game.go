package selfplay

import (
	"fmt"
	"strings"

	"xlarun/envs"
	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// ramsey is the variant of clique for one player.
const ramsey = "ramsey"

// clique is the game of coloring the edges of a graph.
const clique = "clique"

// game is the game that is learned. It has two players, or one (a puzzle).
type game struct {
	env            envs.Environment
	traits         envs.Traits[any, any]
	params         any
	actions, moves int
	players        int
	vertices       int    // of the graph; 0: a board
	k              [2]int // sizes of the cliques, by color
	hexagons       bool   // the board's cells are hexagons
	start          any    // the first state, concrete
	packing        *graph.Packing
	symmetries     symmetries
}

// game returns the game of the settings.
func (c *Config) game() (*game, error) {
	g := &game{players: 2}
	switch c.Game {
	case clique:
		var err error
		if g.env, err = c.clique(); err != nil {
			wrong := func(wants string, args ...any) error {
				return &settings.Error{Key: "k", Got: joined(c.K), Wants: fmt.Sprintf(wants, args...)}
			}
			for _, k := range c.K {
				if k > c.Vertices {
					return nil, wrong("cliques of at most as many vertices as the graph has, %d", c.Vertices)
				}
				if k < 3 {
					return nil, wrong("cliques of 3 vertices or more: two vertices are an edge")
				}
			}
			if len(c.K) == 0 || len(c.K) > 2 {
				return nil, wrong("one size of cliques for both colors, or one for each")
			}
			if c.Rotation > 0 && c.Vertices%c.Rotation != 0 {
				return nil, settings.Wrong("rotation", c.Rotation, "a divisor of the %d vertices, or 0 for any "+
					"coloring", c.Vertices)
			}
			return nil, settings.Wrong("vertices", c.Vertices, "a smaller graph: %s", strings.TrimPrefix(err.Error(),
				"board: "))
		}
		g.vertices, g.k = c.Vertices, [2]int{c.K[0], c.K[len(c.K)-1]}
		if c.Variant == ramsey {
			g.players = 1
		}
	case "tictactoe":
		g.env = envs.Erase(board.TicTacToe())
	case "connectfour":
		g.env = envs.Erase(board.ConnectFour())
	case "hex":
		g.env, g.hexagons = envs.Erase(board.Hex(7)), true
	default:
		g.env = envs.Erase(board.Othello())
	}
	spec := g.env.Spec()
	g.traits, g.params = envs.TraitsOf(g.env), g.env.DefaultParams()
	g.actions, g.moves = spec.Action.(envs.Discrete).N, spec.MaxSteps
	g.symmetries = symmetriesOf(c, g)
	err := graph.Try(func() {
		g.start, _ = g.env.Reset(random.New(0), g.params)
		g.packing = packing(g.start)
	})
	if err == nil {
		g.start, err = graph.Eval(g.start)
	}
	return g, err
}

func (c *Config) clique() (envs.Environment, error) {
	switch c.Variant {
	case "maker":
		g, err := board.Clique(board.Maker, c.Vertices, c.K...)
		return envs.Erase(g), err
	case "avoid":
		g, err := board.Clique(board.Avoid, c.Vertices, c.K...)
		return envs.Erase(g), err
	}
	g, err := board.Ramsey(c.Vertices, c.K...)
	if err == nil && c.Rotation > 0 {
		g, err = g.Rotated(c.Rotation)
	}
	return envs.Erase(puzzle{g}), err
}

func joined(k []int) string {
	f, _ := settings.Lookup(&Config{K: k}, "k")
	return f.Text()
}

// player returns the player to move, i32[]; always 0 in a puzzle.
func (g *game) player(state any) *graph.Array {
	if g.traits.Player == nil {
		return graph.Of(int32(0))
	}
	return g.traits.Player(state, g.params)
}

// packing returns the packing of states as words, u32[words], so that positions of any game fit in one array.
func packing(start any) *graph.Packing {
	leaves, tree := graph.Flatten(start)
	for i, a := range leaves {
		switch a.DType() {
		case graph.Bool, graph.Int32, graph.Uint32, graph.Float32:
		default:
			graph.Throw("selfplay", "the state has %s at %s, want bool, int32, uint32 or float32", a.Shape(),
				tree.Path(i))
		}
	}
	return graph.NewPacking(start, func(graph.Shape) graph.DType { return graph.Uint32 })
}

// stateWords returns the number of words of a state.
func (g *game) stateWords() int { return g.packing.Size(0) }

// pack returns a state as words, u32[stateWords].
func (g *game) pack(state any) *graph.Array { return g.packing.Pack(state)[0] }

// unpack returns the state of words.
func (g *game) unpack(words *graph.Array) any { return g.packing.Unpack([]*graph.Array{words}) }
