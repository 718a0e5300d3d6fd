// Package board holds games of two players who see everything and move in turn: Tic-tac-toe, Connect Four, Hex,
// Othello, and games of colouring the edges of a complete graph (Clique). Player 0 begins. A won game pays 1 to the
// winner and -1 to the loser, a draw nothing.
//
// All but the clique games are equal to pgx 2.6.0, of whose games they have the names, move by move in 2,000 random
// games each; there, who begins is drawn. Observations are float32 where pgx has bools.
package board

import (
	"image"
	"image/color"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Game is an envs.Game whose boards are trees B; the functions of this package make them.
type Game[B any] struct {
	spec  envs.Spec
	rules rules[B]
}

// State is a board and what the last move came to.
type State[B any] struct {
	Board   B
	Player  *graph.Array // i32[]: to move
	Over    *graph.Array // bool[]
	Rewards *graph.Array // f32[2]: of the last move
}

// Params are empty: the rules have no numbers that may change without changing shapes.
type Params struct{}

// rules are what differs from game to game. Nothing of it has to know of illegal moves, nor of games that are over.
type rules[B any] interface {
	start() B
	legal(b B, player *graph.Array) *graph.Array // bool[actions]
	move(b B, player, action *graph.Array) moved[B]
	observe(b B, player *graph.Array) *graph.Array
	draw(id string, state any, size image.Point) (image.Image, error)
}

// moved is what a move comes to.
type moved[B any] struct {
	board      B
	ends, wins *graph.Array // bool: whether the game is over, and won by who moved
	loses      *graph.Array // bool; nil: never by one's own move
}

// newGame is a game of two players with so many actions, of at most so many moves.
func newGame[B any](id string, actions, moves int, observation []int, r rules[B]) Game[B] {
	return Game[B]{spec: envs.Spec{ID: id, Observation: envs.Box{Low: []float64{0}, High: []float64{1},
		Dims: observation, DType: graph.Float32},
		Action: envs.Discrete{N: actions}, MaxSteps: moves, Players: 2, LegalMask: true}, rules: r}
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
		Action: action,
		Player: s.Player, Rewards: rewards, Ends: m.ends})
	stays := func(old, new *graph.Array) *graph.Array { return graph.Select(s.Over, old, new) }
	next = State[B]{Board: graph.MapTree2(stays, s.Board, m.board), Player: stays(s.Player, graph.Sub(1, s.Player)),
		Over: terminated, Rewards: rewards}
	return next, g.Observe(next, p), reward, terminated, envs.False()
}

// Observe is the board as the player to move sees it.
func (g Game[B]) Observe(s State[B], _ Params) *graph.Array {
	return g.rules.observe(s.Board, s.Player)
}

// Legal are the moves that the rules allow; all of them where the game is over.
func (g Game[B]) Legal(s State[B], _ Params) *graph.Array {
	return s.Over.Or(g.rules.legal(s.Board, s.Player))
}

// Player is whose move it is.
func (Game[B]) Player(s State[B], _ Params) *graph.Array { return s.Player }

// Rewards are what the last move gave to both.
func (Game[B]) Rewards(s State[B], _ Params) *graph.Array { return s.Rewards }

// Draw paints the board.
func (g Game[B]) Draw(state any, size image.Point) (image.Image, error) {
	return g.rules.draw(g.spec.ID, state, size)
}

// stone is what a player's cells hold: 1 and 2; empty ones hold 0.
func stone(player *graph.Array) *graph.Array { return player.Add(1) }

// ownAndOther are two planes of cells in one array, [cells, 2]: those of a player and of the other.
func ownAndOther(cells, player *graph.Array) *graph.Array {
	own, other := cells.Eq(stone(player)), cells.Eq(graph.Sub(2, player))
	return graph.Stack([]*graph.Array{own, other}, 1).Convert(graph.Float32)
}

// colours of the two players.
var colours = []color.Color{draw.Ink, draw.Signal}

// drawCells paints a board of cells of 0, 1 and 2, the first at the top left; shift moves each row to the right by so
// many cells.
func drawCells(size image.Point, cells []float64, rows, columns int, shift float64) (image.Image, error) {
	wide := float64(columns) + shift*float64(rows-1)
	c, err := draw.NewCanvas(size, draw.At(-.2, -.2), draw.At(wide+.2, float64(rows)+.2))
	if err != nil {
		return nil, err
	}
	for i, x := range cells {
		at := draw.At(float64(i%columns)+shift*float64(i/columns)+.5, float64(rows-i/columns)-.5)
		c.Rectangle(draw.Wood, draw.At(at.X-.47, at.Y-.47), draw.At(at.X+.47, at.Y+.47))
		if x != 0 {
			c.Disc(colours[int(x)-1], at, .38)
		}
	}
	return c.Image(), nil
}
