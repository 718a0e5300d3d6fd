package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(MetaMaze{}) }

// MetaMaze is a maze of nine by nine cells with pillars, whose goal the walker does not see: Miconi et al.,
// "Backpropamine: training self-modifying neural networks with differentiable neuromodulated plasticity" (2019). The
// actions are up, right, down, left. A step onto the goal pays Reward, and the walker goes on from a cell that is
// drawn; so it has to find the goal, and to remember it. A step into a wall pays Punishment. An episode terminates only
// if the drawn cell is the goal; truncated after 200 steps.
//
// Observation f32[15]: the nine cells around the walker, 1 for a wall; the last action, one-hot; the last reward; the
// time. Equal to gymnax 1.0.1.
type MetaMaze struct{}

// MetaMazeParams are scalars: Reward and Punishment of float32, NormalizeTime of bool, MaxSteps of int32.
type MetaMazeParams struct {
	Reward        *graph.Array
	Punishment    *graph.Array
	NormalizeTime *graph.Array // show time / 50 - 1 instead of the time
	MaxSteps      *graph.Array `min:"1"`
}

// MetaMazeState is int32 scalars, except LastReward, f32[].
type MetaMazeState struct{ Y, X, GoalY, GoalX, LastAction, LastReward, Time *graph.Array }

// mazeSize counts the cells along a side, walls included; mazeSight those that the walker sees.
const mazeSize, mazeSight = 11, 3

// mazeWall reports whether a cell is a wall: the border, and a pillar wherever row and column are even.
func mazeWall(y, x int) bool {
	return y == 0 || x == 0 || y == mazeSize-1 || x == mazeSize-1 || y%2 == 0 && x%2 == 0
}

// mazeWalls are the cells as an array, 1 for a wall; mazeCells the free ones, row by row.
var mazeWalls, mazeCells = func() (walls []float32, cells [2][]int32) {
	for y := range mazeSize {
		for x := range mazeSize {
			if mazeWall(y, x) {
				walls = append(walls, 1)
				continue
			}
			walls = append(walls, 0)
			cells[0], cells[1] = append(cells[0], int32(y)), append(cells[1], int32(x))
		}
	}
	return walls, cells
}()

// Spec of MetaMaze-misc-v1.
func (MetaMaze) Spec() envs.Spec {
	return envs.Spec{ID: "MetaMaze-misc-v1", Observation: box(-1, 200, mazeSight*mazeSight+6),
		Action: envs.Discrete{N: 4}, MaxSteps: 200}
}

// DefaultParams of MetaMaze-misc-v1.
func (MetaMaze) DefaultParams() MetaMazeParams {
	return MetaMazeParams{Reward: graph.Scalar(10), Punishment: graph.Scalar(0), NormalizeTime: envs.False(),
		MaxSteps: envs.Steps(200)}
}

// mazeCell draws a free cell.
func mazeCell(key random.Key) (y, x *graph.Array) {
	n := len(mazeCells[0])
	i := random.Randint(key, graph.ShapeOf(graph.Int32), 0, n)
	return graph.DynamicIndex(graph.Int32s(mazeCells[0]), i, 0), graph.DynamicIndex(graph.Int32s(mazeCells[1]), i, 0)
}

// Reset draws the goal. The walker starts in the middle.
func (e MetaMaze) Reset(key random.Key, p MetaMazeParams) (MetaMazeState, *graph.Array) {
	s := MetaMazeState{Y: envs.Steps(mazeSize / 2), X: envs.Steps(mazeSize / 2), LastAction: envs.Steps(0),
		LastReward: graph.Scalar(0), Time: envs.Steps(0)}
	s.GoalY, s.GoalX = mazeCell(key)
	return s, e.Observe(s, p)
}

// Step moves the walker one cell, unless there is a wall, and from the goal to a cell that is drawn.
func (e MetaMaze) Step(key random.Key, s MetaMazeState, action *graph.Array,
	p MetaMazeParams) (next MetaMazeState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	is := func(i int) *graph.Array { return number(action.Eq(i)) }
	y, x := s.Y.Add(is(2).Sub(is(0))), s.X.Add(is(1).Sub(is(3)))
	walls := graph.Float32s(mazeWalls, mazeSize, mazeSize)
	wall := graph.DynamicIndex(graph.DynamicIndex(walls, y, 0), x, 0)
	y, x = graph.Select(wall.Gt(0), s.Y, y), graph.Select(wall.Gt(0), s.X, x)
	found := y.Eq(s.GoalY).And(x.Eq(s.GoalX))
	reward = float(found).Mul(p.Reward).Add(wall.Mul(p.Punishment))

	newY, newX := mazeCell(key)
	next = MetaMazeState{Y: graph.Select(found, newY, y), X: graph.Select(found, newX, x), GoalY: s.GoalY,
		GoalX: s.GoalX, LastAction: action.Convert(graph.Int32), LastReward: reward}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	terminated = next.Y.Eq(s.GoalY).And(next.X.Eq(s.GoalX))
	return next, e.Observe(next, p), reward, terminated, truncated
}

// Observe is what the walker sees, and what it did and got last.
func (MetaMaze) Observe(s MetaMazeState, p MetaMazeParams) *graph.Array {
	walls := graph.Float32s(mazeWalls, mazeSize, mazeSize)
	near := graph.DynamicSlice(walls, []*graph.Array{s.Y.Sub(mazeSight / 2), s.X.Sub(mazeSight / 2)},
		[]int{mazeSight, mazeSight})
	time := float(s.Time)
	time = graph.Select(p.NormalizeTime, time.Div(50).Sub(1), time)
	return graph.Concatenate(0, near.Reshape(mazeSight*mazeSight), graph.OneHot(s.LastAction, 4, graph.Float32),
		s.LastReward.Reshape(1), time.Reshape(1))
}

// Draw paints the maze from above, the goal and the walker.
func (e MetaMaze) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, mazeSize, mazeSize)
	v := draw.Scalars(b.Canvas, e.Spec().ID, state, func(s MetaMazeState) []*graph.Array {
		return []*graph.Array{s.Y, s.X, s.GoalY, s.GoalX}
	})
	for y := range mazeSize {
		for x := range mazeSize {
			if mazeWall(y, x) {
				b.fill(draw.Steel, float64(y), float64(x), 1.02)
			}
		}
	}
	b.fill(draw.Wood, v[2], v[3], .8)
	b.dot(draw.Accent, v[0], v[1], .35)
	return b.Image()
}
