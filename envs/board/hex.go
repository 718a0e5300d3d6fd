package board

import (
	"fmt"
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { envs.MustRegister(Hex(7)) }

// HexBoard is a board of Hex.
type HexBoard struct {
	Cells  *graph.Array // i32[side²]: 0 empty, 1 and 2 of player 0 and 1
	Groups *graph.Array // i32[side²]: stones that are connected have the same number, of one of their cells + 1
	Moves  *graph.Array // i32[]
}

// Hex is played on a rhombus of side x side hexagons, row by row, each row shifted by half a cell from the one above. Player 0 connects
// the top and the bottom, player 1 left and right; one of them always does. The last action is the swap, which player 1 may play in place
// of a first move: the first stone becomes player 1's, mirrored on the diagonal. Observation f32[side, side, 4]: one's own stones, the
// other's, ones for player 1, ones where one may swap. Registered as Hex-v1 with a side of 7.
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
	return graph.Concatenate(0, graph.Eq(b.Cells, 0), graph.Reshape(graph.Eq(b.Moves, 1), 1))
}

func (r hexRules) move(b HexBoard, player, action *graph.Array) moved[HexBoard] {
	cells := r.side * r.side
	mark := stone(player)
	swap := graph.Eq(action, cells)
	mirrored := graph.Flatten1D(graph.Transpose(graph.Reshape(graph.Ne(b.Cells, 0), r.side, r.side)))
	before := graph.Select(swap, graph.ZerosLike(b.Cells), b.Cells)
	here := graph.Select(swap, mirrored, graph.Eq(graph.Iota(cells), action))
	after := graph.Select(here, mark, before)
	own := graph.Eq(after, mark)
	// The groups beside the new stone, and the stone, become one.
	beside := graph.Index(graph.Dot(graph.Reshape(graph.Convert(here, graph.Float32), 1, cells), r.neighbours()), 0)
	touched := graph.And(own, graph.And(graph.Gt(beside, 0), graph.Ne(before, 0)))
	same := graph.Eq(graph.Reshape(b.Groups, cells, 1), graph.Reshape(b.Groups, 1, cells))
	joined := graph.Or(here, graph.And(own, graph.Any(graph.And(same, graph.Reshape(touched, 1, cells)), 1)))
	joined = graph.And(joined, graph.Or(here, graph.Ne(before, 0)))
	name := graph.Add(graph.ArgMax(graph.Convert(here, graph.Int32), 0), 1)
	groups := graph.Select(joined, name, graph.Select(swap, graph.ZerosLike(b.Groups), b.Groups))

	grid := graph.Reshape(joined, r.side, r.side)
	edge := func(axis, i int) *graph.Array { return graph.Any(graph.SliceAxis(grid, axis, i, i+1)) }
	rows, columns := graph.And(edge(0, 0), edge(0, r.side-1)), graph.And(edge(1, 0), edge(1, r.side-1))
	wins := graph.And(graph.Not(swap), graph.Select(graph.Eq(player, 0), rows, columns))
	return moved[HexBoard]{board: HexBoard{after, groups, graph.Add(b.Moves, 1)}, ends: wins, wins: wins}
}

// neighbours has a one where two cells touch, f32[cells, cells].
func (r hexRules) neighbours() *graph.Array {
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
		return graph.BroadcastTo(graph.Convert(x, graph.Float32), r.side*r.side, 1)
	}
	planes := graph.Concatenate(1, ownAndOther(b.Cells, player), everywhere(player), everywhere(graph.Eq(b.Moves, 1)))
	return graph.Reshape(planes, r.side, r.side, 4)
}

func (r hexRules) draw(id string, state any, size image.Point) (image.Image, error) {
	cells, err := draw.Grid(id, state, func(s State[HexBoard]) *graph.Array { return s.Board.Cells }, r.side*r.side)
	if err != nil {
		return nil, err
	}
	return drawCells(size, cells, r.side, r.side, .5)
}
