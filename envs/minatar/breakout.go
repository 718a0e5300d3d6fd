package minatar

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Breakout{}) }

// Breakout is MinAtar's game of a ball, a paddle at the bottom and three rows of bricks: each brick that the ball
// breaks pays 1. After the last brick, three new rows come when the ball reaches the bottom. Terminated if the ball
// passes the paddle; truncated after 1,000 steps. The difficulty is constant. Equal to gymnax 1.0.1 and MinAtar.
//
// Channels: paddle, ball, trail of the ball, bricks. Actions: stay, left, right.
type Breakout struct{}

// BreakoutParams are scalars, Sticky of float32 and MaxSteps of int32.
type BreakoutParams struct {
	Sticky   *graph.Array `min:"0" max:"1"` // probability that the last action is played again
	MaxSteps *graph.Array `min:"1"`
}

// BreakoutState is int32 scalars unless a comment gives another type.
type BreakoutState struct {
	BallY, BallX *graph.Array
	BallDir      *graph.Array // 0 up and left, 1 up and right, 2 down and right, 3 down and left
	LastY, LastX *graph.Array // the ball's last position
	Pos          *graph.Array // column of the paddle
	Bricks       *graph.Array // i32[10]: bit x of element y is the brick in column x of row y
	Strike       *graph.Array // bool: whether the ball is passing through bricks; it breaks only the first one
	LastAction   *graph.Array
	Time         *graph.Array
}

// Spec of Breakout-MinAtar-v1.
func (Breakout) Spec() envs.Spec { return spec("Breakout-MinAtar-v1", 4, 3, 1000) }

// DefaultParams of Breakout-MinAtar-v1.
func (Breakout) DefaultParams() BreakoutParams {
	return BreakoutParams{Sticky: graph.Scalar(0), MaxSteps: envs.Steps(1000)}
}

// Reset puts the ball below the bricks on the left or on the right, flying down and inwards.
func (e Breakout) Reset(key random.Key, p BreakoutParams) (BreakoutState, *graph.Array) {
	start := random.Randint(key, graph.ShapeOf(graph.Int32), 0, 2)
	x, y := start.Mul(side-1), envs.Steps(3)
	s := BreakoutState{BallY: y, BallX: x, BallDir: start.Add(2), LastY: y, LastX: x, Pos: envs.Steps(4),
		Bricks: wall(),
		Strike: envs.False(), LastAction: envs.Steps(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// wall is three whole rows of bricks.
func wall() *graph.Array {
	y := graph.Iota(side)
	return graph.Select(y.Ge(1).And(y.Le(3)), 1<<side-1, 0)
}

// Step moves the paddle, then the ball. The key is used for sticky actions only.
func (e Breakout) Step(key random.Key, s BreakoutState, action *graph.Array,
	p BreakoutParams) (next BreakoutState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := stickyAction(key, action, s.LastAction, p.Sticky)
	pos := moved(s.Pos, a, 1, 2, 0, side-1)

	down := s.BallDir.Ge(2)
	right := s.BallDir.Eq(1).Or(s.BallDir.Eq(2))
	x := s.BallX.Add(graph.Select(right, 1, -1))
	y := s.BallY.Add(graph.Select(down, 1, -1))
	right = right.Xor(x.Lt(0).Or(x.Ge(side)))
	x = graph.Clamp(0, x, side-1)
	roof := y.Lt(0)
	down = down.Xor(roof)
	y = y.Max(0)

	brick := lineOf(s.Bricks, y).And(bit(x))
	hit := roof.Not().And(nonZero(brick))
	breaks := hit.And(s.Strike.Not())
	bricks := s.Bricks.Xor(when(breaks, line(y, brick)))
	down = down.Xor(breaks)
	y = graph.Select(breaks, s.BallY, y)

	floor := hit.Not().And(y.Eq(side - 1))
	bricks = bricks.Or(when(floor.And(nonZero(graph.ReduceOr(bricks)).Not()), wall()))
	// The paddle sends the ball back the way it came if it is where the ball was, and on if it is where the ball comes.
	back := floor.And(s.BallX.Eq(pos))
	on := floor.And(back.Not()).And(x.Eq(pos))
	caught := back.Or(on)
	down = down.Xor(caught)
	right = right.Xor(on)
	y = graph.Select(caught, s.BallY, y)

	next = BreakoutState{BallY: y, BallX: x, BallDir: graph.Select(down, graph.Select(right, 2, 3),
		graph.Select(right, 1, 0)),
		LastY: s.BallY, LastX: s.BallX, Pos: pos, Bricks: bricks, Strike: hit, LastAction: a}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), breaks.Convert(graph.Float32), floor.And(caught.Not()),
		truncated
}

// Observe gives the four channels.
func (Breakout) Observe(s BreakoutState, _ BreakoutParams) *graph.Array {
	return channels(cell(envs.Steps(side-1), s.Pos), cell(s.BallY, s.BallX), cell(s.LastY, s.LastX), grid(s.Bricks))
}

// Draw paints the grid.
func (e Breakout) Draw(state any, size image.Point) (image.Image, error) {
	return paint(e.Spec().ID, state, size, func(s BreakoutState) *graph.Array { return s.Time },
		func(s BreakoutState) *graph.Array { return e.Observe(s, BreakoutParams{}) },
		layer{3, draw.Wood, .92}, layer{2, faint, .5}, layer{0, draw.Ink, 1}, layer{1, draw.Accent, .8})
}
