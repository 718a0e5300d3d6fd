// Package board has two-player games with perfect information: Tic-tac-toe, Connect Four, Hex, Othello, and games of
// coloring the edges of a complete graph (Clique). Player 0 begins. The winner gets 1, the loser -1; a draw gives 0.
//
// All games except the clique games equal the games of the same name in pgx 2.6.0, move by move in 2,000 random games
// each. Two things differ: pgx draws the player who begins, and its observations are bools, not float32.
package board

import (
	"image"
	"image/color"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Game is a game whose boards are trees B. Functions such as Hex make them.
type Game[B any] struct {
	spec  envs.Spec
	rules rules[B]
}

// State is a board, the player to move and the result of the last move.
type State[B any] struct {
	Board   B
	Player  *graph.Array // i32[]: to move
	Over    *graph.Array // bool[]
	Rewards *graph.Array // f32[2]: of the last move
}

// Params are empty: all numbers of the rules determine shapes.
type Params struct{}

// rules are the parts that differ between games. They need not handle illegal moves or finished games.
type rules[B any] interface {
	start() B
	legal(b B, player *graph.Array) *graph.Array // bool[actions]
	move(b B, player, action *graph.Array) moved[B]
	observe(b B, player *graph.Array) *graph.Array
	draw(id string, state any, size image.Point) (image.Image, error)
}

// moved is the result of a move.
type moved[B any] struct {
	board      B
	ends, wins *graph.Array // bool: whether the game is over, whether the mover won
	loses      *graph.Array // bool: whether the mover lost; nil: never
}

// newGame is a two-player game with the given number of actions and maximum number of moves.
func newGame[B any](id string, actions, moves int, observation []int, r rules[B]) Game[B] {
	box := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: observation, DType: graph.Float32}
	return Game[B]{spec: envs.Spec{ID: id, Observation: box, Action: envs.Discrete{N: actions}, MaxSteps: moves,
		Players: 2, LegalMask: true}, rules: r}
}

// Spec of the game.
func (g Game[B]) Spec() envs.Spec { return g.spec }

// DefaultParams are empty.
func (Game[B]) DefaultParams() Params { return Params{} }

// Reset begins a game.
func (g Game[B]) Reset(_ random.Key, p Params) (State[B], *graph.Array) {
	s := State[B]{Board: g.rules.start(), Player: envs.Steps(0), Over: envs.False(),
		Rewards: graph.Zeros(graph.ShapeOf(graph.Float32, 2))}
	return s, g.Observe(s, p)
}

// Step plays a move.
func (g Game[B]) Step(_ random.Key, s State[B], action *graph.Array,
	p Params) (next State[B], obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(g.spec, action)
	m := g.rules.move(s.Board, s.Player, action)
	score := m.wins.Convert(graph.Float32)
	if m.loses != nil {
		score = score.Sub(m.loses.Convert(graph.Float32))
	}
	rewards := graph.Select(graph.Iota(2).Eq(s.Player), score, graph.Sub(0, score))
	rewards, reward, terminated = envs.Referee(envs.Move{Over: s.Over, Legal: g.rules.legal(s.Board, s.Player),
		Action: action, Player: s.Player, Rewards: rewards, Ends: m.ends})
	next = State[B]{Board: graph.SelectTree(s.Over, s.Board, m.board),
		Player: graph.Select(s.Over, s.Player, graph.Sub(1, s.Player)), Over: terminated, Rewards: rewards}
	return next, g.Observe(next, p), reward, terminated, envs.False()
}

// Observe is the board from the view of the player to move.
func (g Game[B]) Observe(s State[B], _ Params) *graph.Array {
	return g.rules.observe(s.Board, s.Player)
}

// Legal is the mask of the legal moves; all true after the end of the game.
func (g Game[B]) Legal(s State[B], _ Params) *graph.Array {
	return s.Over.Or(g.rules.legal(s.Board, s.Player))
}

// Player is the player to move.
func (Game[B]) Player(s State[B], _ Params) *graph.Array { return s.Player }

// Rewards are both players' rewards in the last move.
func (Game[B]) Rewards(s State[B], _ Params) *graph.Array { return s.Rewards }

// Draw paints the board.
func (g Game[B]) Draw(state any, size image.Point) (image.Image, error) {
	return g.rules.draw(g.spec.ID, state, size)
}

// stone is the number of a player's stones in cells: 1 or 2; empty cells are 0.
func stone(player *graph.Array) *graph.Array { return player.Add(1) }

// ownAndOther is the planes of the player's stones and of the opponent's stones, [cells, 2].
func ownAndOther(cells, player *graph.Array) *graph.Array {
	own, other := cells.Eq(stone(player)), cells.Eq(graph.Sub(2, player))
	return graph.Stack([]*graph.Array{own, other}, 1).Convert(graph.Float32)
}

// colors are the colors of the two players.
var colors = []color.Color{draw.Ink, draw.Signal}

// drawCells paints a board of cells 0, 1 and 2, the first at the top left. It shifts each row to the right of the one
// above by shift cells.
func drawCells[S any](id string, state any, size image.Point, cells func(S) *graph.Array, rows, columns int,
	shift float64) (image.Image, error) {
	wide := float64(columns) + shift*float64(rows-1)
	c := draw.NewCanvas(size, draw.At(-.2, -.2), draw.At(wide+.2, float64(rows)+.2))
	for i, x := range draw.Grid(c, id, state, cells, rows*columns) {
		at := draw.At(float64(i%columns)+shift*float64(i/columns)+.5, float64(rows-i/columns)-.5)
		c.Rectangle(draw.Wood, draw.At(at.X-.47, at.Y-.47), draw.At(at.X+.47, at.Y+.47))
		if x != 0 {
			c.Disc(colors[int(x)-1], at, .38)
		}
	}
	return c.Image()
}
