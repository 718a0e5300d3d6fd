package board

import (
	"image"

	"xlarun/envs"
	"xlarun/graph"
)

func init() { envs.MustRegister(Othello()) }

// OthelloBoard is a board of Othello.
type OthelloBoard struct {
	Cells  *graph.Array // i32[64]: 0 empty, 1 and 2 of player 0 and 1
	Moves  *graph.Array // bool[65]: the legal moves
	Passed *graph.Array // bool[]: whether the last move was a pass
}

// Othello is played on 8 x 8 cells. A new stone must enclose opponent's stones in a line between itself and another
// stone of its player; the enclosed stones change color. Actions are the cells, row by row, and pass, which is legal
// only if there is no other move. The game ends when the board is full, a player has no stones, or both pass. The
// player with more stones wins. Observation f32[8, 8, 2]: your stones and the opponent's stones.
func Othello() Game[OthelloBoard] {
	return newGame("Othello-v1", 65, 122, []int{8, 8, 2}, rules[OthelloBoard](othelloRules{}))
}

const (
	othelloSide  = 8
	othelloCells = othelloSide * othelloSide
)

type othelloRules struct{}

func (othelloRules) start() OthelloBoard {
	cells := make([]int32, othelloCells)
	cells[28], cells[35], cells[27], cells[36] = 1, 1, 2, 2
	b := OthelloBoard{Cells: graph.Int32s(cells), Passed: envs.False()}
	b.Moves = othelloMoves(grid(b.Cells.Eq(1)), grid(b.Cells.Eq(2)))
	return b
}

func (othelloRules) legal(b OthelloBoard, _ *graph.Array) *graph.Array { return b.Moves }

func grid(cells *graph.Array) *graph.Array { return cells.Reshape(othelloSide, othelloSide) }

// directions are steps along rows and columns.
var directions = [][2]int{{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}}

// shifted shifts cells by a direction and fills with false.
func shifted(cells *graph.Array, d [2]int) *graph.Array {
	low, high := []int{max(d[0], 0), max(d[1], 0)}, []int{max(-d[0], 0), max(-d[1], 0)}
	start := []int{high[0], high[1]}
	limit := []int{othelloSide - low[0], othelloSide - low[1]}
	return graph.Pad(graph.Slice(cells, start, limit), false, low, high)
}

// runs are the cells of theirs in an unbroken line that starts beside a cell of from.
func runs(from, theirs *graph.Array, d [2]int) *graph.Array {
	run := theirs.And(shifted(from, d))
	for range othelloSide - 3 {
		run = run.Or(theirs.And(shifted(run, d)))
	}
	return run
}

// othelloMoves are the legal moves of a player, bool[65].
func othelloMoves(mine, theirs *graph.Array) *graph.Array {
	free := mine.Or(theirs).Not()
	legal := free.And(free.Not())
	for _, d := range directions {
		legal = legal.Or(free.And(shifted(runs(mine, theirs, d), d)))
	}
	return graph.Concatenate(0, graph.Flatten1D(legal), legal.Any().Not().Reshape(1))
}

func (othelloRules) move(b OthelloBoard, player, action *graph.Array) moved[OthelloBoard] {
	mine, theirs := grid(b.Cells.Eq(stone(player))), grid(b.Cells.Eq(graph.Sub(2, player)))
	here := grid(graph.Iota(othelloCells).Eq(action)) // all false for a pass
	turned := here.And(here.Not())
	for _, d := range directions {
		run := runs(here, theirs, d)
		enclosed := mine.And(shifted(run, d)).Any()
		turned = turned.Or(run.And(enclosed))
	}
	mine = mine.Or(here.Or(turned))
	theirs = theirs.And(turned.Not())
	pass := action.Eq(othelloCells)
	count := func(x *graph.Array) *graph.Array { return x.Convert(graph.Int32).Sum() }
	own, other := count(mine), count(theirs)
	ends := own.Add(other).Eq(othelloCells).Or(other.Eq(0).Or(b.Passed.And(pass)))
	cells := graph.Select(graph.Flatten1D(theirs), graph.Sub(2, player), 0)
	cells = graph.Select(graph.Flatten1D(mine), stone(player), cells)
	return moved[OthelloBoard]{board: OthelloBoard{cells, othelloMoves(theirs, mine), pass}, ends: ends,
		wins: ends.And(own.Gt(other)), loses: ends.And(own.Lt(other))}
}

func (othelloRules) observe(b OthelloBoard, player *graph.Array) *graph.Array {
	return ownAndOther(b.Cells, player).Reshape(othelloSide, othelloSide, 2)
}

func (othelloRules) draw(id string, state any, size image.Point) (image.Image, error) {
	cells := func(s State[OthelloBoard]) *graph.Array { return s.Board.Cells }
	return drawCells(id, state, size, cells, othelloSide, othelloSide, 0)
}
