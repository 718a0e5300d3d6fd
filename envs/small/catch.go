package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Catch{}) }

// Catch is a ball that falls through a grid of 10 rows and 5 columns. A paddle in the last row moves left (action 0),
// stays (1) or moves right (2). In the ninth step the ball reaches the last row: reward 1 if the paddle is there, else
// -1, and the episode terminates. The limit of 1,000 steps is never reached.
//
// Observation f32[10, 5]: ones at the ball and the paddle. Equal to gymnax 1.0.1 until the end of an episode; after it
// the ball of gymnax starts again at the top without a reset.
type Catch struct{}

// CatchParams is an int32 scalar.
type CatchParams struct {
	MaxSteps *graph.Array `min:"1"`
}

// CatchState is int32 scalars.
type CatchState struct{ BallX, BallY, PaddleX, Time *graph.Array }

const catchRows, catchColumns = 10, 5

// Spec of Catch-bsuite-v1.
func (Catch) Spec() envs.Spec {
	return envs.Spec{ID: "Catch-bsuite-v1", Observation: box(0, 1, catchRows, catchColumns), Action: envs.Discrete{
		N: 3}, MaxSteps: 1000, MaxReward: new(1.)}
}

// DefaultParams of Catch-bsuite-v1.
func (Catch) DefaultParams() CatchParams { return CatchParams{MaxSteps: envs.Steps(1000)} }

// Reset draws the column of the ball.
func (e Catch) Reset(key random.Key, p CatchParams) (CatchState, *graph.Array) {
	s := CatchState{BallX: random.Randint(key, graph.ShapeOf(graph.Int32), 0, catchColumns), BallY: envs.Steps(0),
		PaddleX: envs.Steps(catchColumns / 2), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves paddle and ball. The key is not used.
func (e Catch) Step(_ random.Key, s CatchState, action *graph.Array,
	p CatchParams) (next CatchState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	next = CatchState{BallX: s.BallX, BallY: s.BallY.Add(1),
		PaddleX: graph.Clamp(0, s.PaddleX.Add(action.Convert(graph.Int32).Sub(1)), catchColumns-1)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	down := next.BallY.Eq(catchRows - 1)
	return next, e.Observe(next, p), graph.Select(down, sign(next.PaddleX.Eq(s.BallX)), 0.), down, truncated
}

// Observe is the grid with ball and paddle.
func (Catch) Observe(s CatchState, _ CatchParams) *graph.Array {
	return float(cell(s.BallY, s.BallX, catchRows, catchColumns).Or(cell(envs.Steps(catchRows-1), s.PaddleX,
		catchRows, catchColumns)))
}

// Draw paints the grid.
func (e Catch) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, catchRows, catchColumns)
	v := draw.Scalars(b.Canvas, e.Spec().ID, state, func(s CatchState) []*graph.Array {
		return []*graph.Array{s.BallX, s.BallY, s.PaddleX}
	})
	b.fill(draw.Ink, catchRows-1, v[2], .9)
	b.dot(draw.Accent, v[1], v[0], .35)
	return b.Image()
}
