package board

import (
	"image"

	"xlarun/envs"
	"xlarun/graph"
)

func init() {
	envs.MustRegister(TicTacToe())
	envs.MustRegister(ConnectFour())
}

// Lines is the board of TicTacToe and ConnectFour.
type Lines struct {
	Cells *graph.Array // i32[cells], row by row from the top: 0 empty, 1 and 2 of player 0 and 1
}

// TicTacToe is noughts and crosses: actions are the nine cells, row by row; three in a line win. Observation f32[3, 3,
// 2]: your cells and the opponent's cells.
func TicTacToe() Game[Lines] {
	return newGame("TicTacToe-v1", 9, 9, []int{3, 3, 2}, rules[Lines](lineRules{rows: 3, columns: 3, length: 3}))
}

// ConnectFour is played on six rows and seven columns. Actions are the columns: a stone falls to the lowest free cell.
// Four in a line win. Observation f32[6, 7, 2]: your cells and the opponent's cells, the top row first.
func ConnectFour() Game[Lines] {
	return newGame("ConnectFour-v1", 7, 42, []int{6, 7, 2},
		rules[Lines](lineRules{rows: 6, columns: 7, length: 4, falls: true}))
}

type lineRules struct {
	rows, columns, length int
	falls                 bool // actions are columns
}

func (r lineRules) start() Lines {
	return Lines{graph.Zeros(graph.ShapeOf(graph.Int32, r.rows*r.columns))}
}

func (r lineRules) legal(b Lines, _ *graph.Array) *graph.Array {
	free := b.Cells.Eq(0)
	if r.falls {
		return graph.SliceAxis(free, 0, 0, r.columns) // the top row
	}
	return free
}

func (r lineRules) move(b Lines, player, action *graph.Array) moved[Lines] {
	place := action
	if r.falls {
		grid := b.Cells.Reshape(r.rows, r.columns)
		here := graph.Iota(r.columns).Eq(action)
		free := grid.Eq(0).And(here).Convert(graph.Int32).Sum()
		place = free.Sub(1).Mul(r.columns).Add(action)
	}
	cells := graph.Select(graph.Iota(r.rows*r.columns).Eq(place), stone(player), b.Cells)
	own := cells.Eq(stone(player)).Convert(graph.Float32)
	wins := own.Dot(r.lines()).Eq(r.length).Any()
	return moved[Lines]{board: Lines{cells}, ends: wins.Or(cells.Ne(0).All()), wins: wins}
}

// lines is a matrix f32[cells, lines]: 1 if the cell is on the line.
func (r lineRules) lines() *graph.Array {
	var all [][]int
	for row := range r.rows {
		for column := range r.columns {
			for _, d := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}} {
				y, x := row+d[0]*(r.length-1), column+d[1]*(r.length-1)
				if y >= r.rows || x < 0 || x >= r.columns {
					continue
				}
				var line []int
				for i := range r.length {
					line = append(line, (row+i*d[0])*r.columns+column+i*d[1])
				}
				all = append(all, line)
			}
		}
	}
	ones := make([]float32, r.rows*r.columns*len(all))
	for i, line := range all {
		for _, cell := range line {
			ones[cell*len(all)+i] = 1
		}
	}
	return graph.Float32s(ones, r.rows*r.columns, len(all))
}

func (r lineRules) observe(b Lines, player *graph.Array) *graph.Array {
	return ownAndOther(b.Cells, player).Reshape(r.rows, r.columns, 2)
}

func (r lineRules) draw(id string, state any, size image.Point) (image.Image, error) {
	cells := func(s State[Lines]) *graph.Array { return s.Board.Cells }
	return drawCells(id, state, size, cells, r.rows, r.columns, 0)
}
