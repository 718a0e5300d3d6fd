package small

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(FourRooms{}) }

// FourRooms is a walk to a goal through four rooms with doors between them: Sutton, Precup and Singh, "Between MDPs and
// semi-MDPs" (1999). The actions are up, right, down, left. With probability FailProb an action fails and another
// direction is taken. The goal pays 1 and terminates; truncated after 500 steps.
//
// Observation f32[4]: row and column of the walker and of the goal, from 1 to 11. Equal to gymnax 1.0.1.
type FourRooms struct{}

// FourRoomsParams are scalars: FailProb of float32, MaxSteps of int32, the others of bool.
type FourRoomsParams struct {
	FailProb    *graph.Array `min:"0" max:"1"`
	RandomStart *graph.Array // draw the walker's position for each episode; false: row 4, column 1
	RandomGoal  *graph.Array // draw the goal; false: row 8, column 9
	MaxSteps    *graph.Array `min:"1"`
}

// FourRoomsState is int32 scalars.
type FourRoomsState struct{ Y, X, GoalY, GoalX, Time *graph.Array }

var rooms = []string{
	"#############",
	"#     #     #",
	"#     #     #",
	"#           #",
	"#     #     #",
	"#     #     #",
	"## ####     #",
	"#     ### ###",
	"#     #     #",
	"#     #     #",
	"#           #",
	"#     #     #",
	"#############",
}

// roomCells are the free cells, row by row. roomRows has the same cells as one number a row; bit x is column x.
var roomCells, roomRows = func() (cells [2][]int32, rows []int32) {
	for y, line := range rooms {
		var bits int32
		for x, c := range line {
			if c == ' ' {
				cells[0], cells[1] = append(cells[0], int32(y)), append(cells[1], int32(x))
				bits |= 1 << x
			}
		}
		rows = append(rows, bits)
	}
	return cells, rows
}()

// Spec of FourRooms-misc-v1.
func (FourRooms) Spec() envs.Spec {
	return envs.Spec{ID: "FourRooms-misc-v1", Observation: box(1, 11, 4), Action: envs.Discrete{N: 4},
		MaxSteps: 500, MaxReward: new(1.)}
}

// DefaultParams of FourRooms-misc-v1.
func (FourRooms) DefaultParams() FourRoomsParams {
	return FourRoomsParams{FailProb: graph.Scalar(1. / 3), RandomStart: envs.False(), RandomGoal: envs.False(),
		MaxSteps: envs.Steps(500)}
}

// Reset places the walker and the goal. If the walker's cell is the goal, it starts in the last cell.
func (e FourRooms) Reset(key random.Key, p FourRoomsParams) (FourRoomsState, *graph.Array) {
	goalKey, startKey := random.Split2(key)
	n := len(roomCells[0])
	scalar := graph.ShapeOf(graph.Int32)
	position := func(i *graph.Array) (y, x *graph.Array) {
		here := graph.Iota(n).Eq(i)
		at := func(v []int32) *graph.Array { return graph.Select(here, graph.Int32s(v), 0).Sum() }
		return at(roomCells[0]), at(roomCells[1])
	}
	s := FourRoomsState{Time: envs.Steps(0)}
	y, x := position(random.Randint(goalKey, scalar, 0, n))
	s.GoalY, s.GoalX = graph.Select(p.RandomGoal, y, 8), graph.Select(p.RandomGoal, x, 9)
	y, x = position(random.Randint(startKey, scalar, 0, n-1))
	taken := y.Eq(s.GoalY).And(x.Eq(s.GoalX))
	last := func(v []int32) int { return int(v[n-1]) }
	s.Y = graph.Select(p.RandomStart, graph.Select(taken, last(roomCells[0]), y), 4)
	s.X = graph.Select(p.RandomStart, graph.Select(taken, last(roomCells[1]), x), 1)
	return s, e.Observe(s, p)
}

// Step moves the walker one cell, unless there is a wall.
func (e FourRooms) Step(key random.Key, s FourRoomsState, action *graph.Array,
	p FourRoomsParams) (next FourRoomsState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	failKey, directionKey := random.Split2(key)
	// A quarter of the random directions equal the action: hence 4/3.
	fails := random.Uniform(failKey, graph.ShapeOf(graph.Float32), 0, 1).Lt(p.FailProb.Mul(4. / 3))
	direction := graph.Select(fails, envs.Discrete{N: 4}.Sample(directionKey), action.Convert(graph.Int32))
	is := func(i int) *graph.Array { return number(direction.Eq(i)) }
	y := s.Y.Add(is(2).Sub(is(0)))
	x := s.X.Add(is(1).Sub(is(3)))
	row := graph.Select(graph.Iota(len(roomRows)).Eq(y), graph.Int32s(roomRows), 0).Sum()
	free := graph.ShiftRightLogical(row, x).And(1).Eq(1)

	next = FourRoomsState{Y: graph.Select(free, y, s.Y), X: graph.Select(free, x, s.X), GoalY: s.GoalY, GoalX: s.GoalX}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	found := next.Y.Eq(s.GoalY).And(next.X.Eq(s.GoalX))
	return next, e.Observe(next, p), float(found), found, truncated
}

// Observe is the positions of the walker and the goal.
func (FourRooms) Observe(s FourRoomsState, _ FourRoomsParams) *graph.Array {
	return float(graph.Stack([]*graph.Array{s.Y, s.X, s.GoalY, s.GoalX}, 0))
}

// Draw paints the rooms from above, the goal and the walker.
func (e FourRooms) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, len(rooms), len(rooms))
	v := draw.Scalars(b.Canvas, e.Spec().ID, state, func(s FourRoomsState) []*graph.Array {
		return []*graph.Array{s.Y, s.X, s.GoalY, s.GoalX}
	})
	for y, line := range rooms {
		for x, c := range line {
			if c == '#' {
				b.fill(draw.Steel, float64(y), float64(x), 1.02)
			}
		}
	}
	b.fill(draw.Wood, v[2], v[3], .8)
	b.dot(draw.Accent, v[0], v[1], .35)
	return b.Image()
}

// root is the square root of max(x, 0).
func root(x float64) float64 { return math.Sqrt(max(x, 0)) }
