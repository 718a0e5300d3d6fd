package board

import (
	"fmt"
	"image"

	"xlarun/envs"
	"xlarun/graph"
)

func init() { envs.MustRegister(Hex(7)) }

// HexBoard is a board of Hex.
type HexBoard struct {
	Cells  *graph.Array // i32[side²]: 0 empty, 1 and 2 of player 0 and 1
	Groups *graph.Array // i32[side²]: connected stones have the same number, 1 + the index of one of their cells
	Moves  *graph.Array // i32[]
}

// Hex is played on a rhombus of side x side hexagons, row by row, each row shifted by half a cell from the one above.
// Player 0 connects top and bottom, player 1 left and right; there are no draws. The last action is the swap, which is
// legal only as the first move of player 1: the first stone becomes player 1's, mirrored on the diagonal. Observation
// f32[side, side, 4]: your stones, the opponent's stones, ones for player 1, ones if the swap is legal. Registered as
// Hex-v1 with side 7.
func Hex(side int) Game[HexBoard] {
	if side < 2 {
		graph.Throw("board.Hex", "got a side of %d, want 2 or more", side)
	}
	id := "Hex-v1"
	if side != 7 {
		id = fmt.Sprintf("Hex-%d-v1", side)
	}
	return newGame(id, side*side+1, side*side+1, []int{side, side, 4}, rules[HexBoard](hexRules{side}))
}

type hexRules struct{ side int }

func (r hexRules) start() HexBoard {
	empty := graph.Zeros(graph.ShapeOf(graph.Int32, r.side*r.side))
	return HexBoard{empty, empty, envs.Steps(0)}
}

func (r hexRules) legal(b HexBoard, _ *graph.Array) *graph.Array {
	return graph.Concatenate(0, b.Cells.Eq(0), b.Moves.Eq(1).Reshape(1))
}

func (r hexRules) move(b HexBoard, player, action *graph.Array) moved[HexBoard] {
	cells := r.side * r.side
	mark := stone(player)
	swap := action.Eq(cells)
	mirrored := graph.Flatten1D(b.Cells.Ne(0).Reshape(r.side, r.side).Transpose())
	before := graph.Select(swap, graph.ZerosLike(b.Cells), b.Cells)
	here := graph.Select(swap, mirrored, graph.Iota(cells).Eq(action))
	after := graph.Select(here, mark, before)
	own := after.Eq(mark)
	// The new stone and the groups beside it become one group.
	beside := here.Convert(graph.Float32).Reshape(1, cells).Dot(r.neighbors()).Index(0)
	touched := own.And(beside.Gt(0).And(before.Ne(0)))
	same := b.Groups.Reshape(cells, 1).Eq(b.Groups.Reshape(1, cells))
	joined := here.Or(own.And(same.And(touched.Reshape(1, cells)).Any(1)))
	joined = joined.And(here.Or(before.Ne(0)))
	name := here.Convert(graph.Int32).ArgMax(0).Add(1)
	groups := graph.Select(joined, name, graph.Select(swap, graph.ZerosLike(b.Groups), b.Groups))

	grid := joined.Reshape(r.side, r.side)
	edge := func(axis, i int) *graph.Array { return graph.SliceAxis(grid, axis, i, i+1).Any() }
	rows, columns := edge(0, 0).And(edge(0, r.side-1)), edge(1, 0).And(edge(1, r.side-1))
	wins := swap.Not().And(graph.Select(player.Eq(0), rows, columns))
	return moved[HexBoard]{board: HexBoard{after, groups, b.Moves.Add(1)}, ends: wins, wins: wins}
}

// neighbors is the adjacency matrix of the cells, f32[cells, cells].
func (r hexRules) neighbors() *graph.Array {
	cells := r.side * r.side
	ones := make([]float32, cells*cells)
	for cell := range cells {
		for _, d := range [][2]int{{0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}} {
			y, x := cell/r.side+d[0], cell%r.side+d[1]
			if y >= 0 && y < r.side && x >= 0 && x < r.side {
				ones[cell*cells+y*r.side+x] = 1
			}
		}
	}
	return graph.Float32s(ones, cells, cells)
}

func (r hexRules) observe(b HexBoard, player *graph.Array) *graph.Array {
	everywhere := func(x *graph.Array) *graph.Array {
		return x.Convert(graph.Float32).BroadcastTo(r.side*r.side, 1)
	}
	planes := graph.Concatenate(1, ownAndOther(b.Cells, player), everywhere(player), everywhere(b.Moves.Eq(1)))
	return planes.Reshape(r.side, r.side, 4)
}

func (r hexRules) draw(id string, state any, size image.Point) (image.Image, error) {
	cells := func(s State[HexBoard]) *graph.Array { return s.Board.Cells }
	return drawCells(id, state, size, cells, r.side, r.side, .5)
}
