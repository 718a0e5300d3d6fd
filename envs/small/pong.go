package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Pong{}) }

// Pong is a ball between two paddles of five cells on a field of 30 rows and 40 columns. The left paddle stays
// (action 0), moves up (1) or down (2). The right one follows the ball, or does what the left one does where Follows
// is false. The reward is 1 in each step until the ball is lost; then the episode terminates. Truncated after 1,000
// steps.
//
// Observation f32[30, 40, 3]: ones at the paddles, at the ball, and where the ball was before. Equal to gymnax
// 1.0.1, in which the ball is not reflected by the top border: it is shown in the first row while it is beyond.
type Pong struct{}

// PongParams are scalars: bool Follows, int32 the others.
type PongParams struct {
	MaxBallSpeed *graph.Array `min:"0"` // rows a step
	PaddleSpeed  *graph.Array `min:"0"` // rows a step
	BallSpeed    *graph.Array `min:"1"` // columns a step
	Follows      *graph.Array
	MaxSteps     *graph.Array `min:"1"`
}

// PongState is int32: rows of the paddles' middles [2], places and velocity of the ball [2] (row, column), time [].
type PongState struct{ Paddles, Ball, LastBall, Velocity, Time *graph.Array }

const pongRows, pongColumns, pongHalf = 30, 40, 2

// Spec of Pong-misc-v1.
func (Pong) Spec() envs.Spec {
	return envs.Spec{ID: "Pong-misc-v1", Observation: box(0, 1, pongRows, pongColumns, 3), Action: envs.Discrete{N: 3},
		MaxSteps: 1000, MaxReward: new(1.)}
}

// DefaultParams of Pong-misc-v1.
func (Pong) DefaultParams() PongParams {
	return PongParams{MaxBallSpeed: envs.Steps(3), PaddleSpeed: envs.Steps(1), BallSpeed: envs.Steps(1),
		Follows: envs.False().Not(), MaxSteps: envs.Steps(1000)}
}

func pair(a, b *graph.Array) *graph.Array { return graph.Stack([]*graph.Array{a, b}, 0) }

// Reset puts all in the middle; the ball flies to the right. The key is not used.
func (e Pong) Reset(_ random.Key, p PongParams) (PongState, *graph.Array) {
	middle := graph.Int32s([]int32{pongRows / 2, pongColumns / 2})
	s := PongState{Paddles: graph.Int32s([]int32{pongRows / 2, pongRows / 2}), Ball: middle, LastBall: middle,
		Velocity: pair(envs.Steps(0), p.BallSpeed), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the paddles, then the ball. The key is not used.
func (e Pong) Step(_ random.Key, s PongState, action *graph.Array,
	p PongParams) (next PongState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	inside := func(row *graph.Array) *graph.Array { return graph.Clamp(pongHalf, row, pongRows-pongHalf-1) }
	direction := number(action.Eq(2)).Sub(number(action.Eq(1))).Mul(p.PaddleSpeed)
	left, right := s.Paddles.Index(0), s.Paddles.Index(1)
	distance := func(row *graph.Array) *graph.Array { return s.Ball.Index(0).Sub(inside(row)).Abs() }
	up := distance(right.Sub(p.PaddleSpeed)).Lt(distance(right.Add(p.PaddleSpeed)))
	chase := graph.Select(up, p.PaddleSpeed.Neg(), p.PaddleSpeed)
	left, right = inside(left.Add(direction)), inside(right.Add(graph.Select(p.Follows, chase, direction)))

	y, x := s.Ball.Index(0).Add(s.Velocity.Index(0)), s.Ball.Index(1).Add(s.Velocity.Index(1))
	vy, vx := s.Velocity.Index(0), s.Velocity.Index(1)
	low := y.Ge(pongRows)
	y, vy = graph.Select(low, graph.Sub(2*(pongRows-1), y), y), graph.Select(low, vy.Neg(), vy)
	// A paddle turns the ball around and speeds it up by its distance from the paddle's middle.
	fromLeft, fromRight := y.Sub(left), y.Sub(right)
	hitLeft := x.Le(1).And(fromLeft.Abs().Le(pongHalf))
	hitRight := x.Gt(pongColumns - 2).And(fromRight.Abs().Le(pongHalf))
	bent := func(vy, from *graph.Array) *graph.Array {
		most := float(p.MaxBallSpeed)
		return graph.Clamp(most.Neg(), float(vy).Add(float(from).Div(pongHalf)), most).Round().Convert(graph.Int32)
	}
	at := x
	x, vx = graph.Select(hitLeft, graph.Sub(2, at), x), graph.Select(hitLeft, vx.Neg(), vx)
	vy = graph.Select(hitLeft, bent(vy, fromLeft), vy)
	x, vx = graph.Select(hitRight, graph.Sub(2*(pongColumns-2), at), x), graph.Select(hitRight, vx.Neg(), vx)
	vy = graph.Select(hitRight, bent(vy, fromRight), vy)

	next = PongState{Paddles: pair(left, right), Ball: pair(y, x), LastBall: s.Ball, Velocity: pair(vy, vx)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	lost := x.Lt(0).Or(x.Ge(pongColumns))
	return next, e.Observe(next, p), float(lost.Not()), lost, truncated
}

// Observe is the field: paddles, ball, and the ball before.
func (Pong) Observe(s PongState, _ PongParams) *graph.Array {
	ball := func(at *graph.Array) *graph.Array {
		return cell(graph.Clamp(0, at.Index(0), pongRows-1), graph.Clamp(0, at.Index(1), pongColumns-1), pongRows,
			pongColumns)
	}
	row, column := graph.Iota(pongRows).Reshape(pongRows, 1), graph.Iota(pongColumns).Reshape(1, pongColumns)
	paddle := func(i, at int) *graph.Array {
		return row.Sub(s.Paddles.Index(i)).Abs().Le(pongHalf).And(column.Eq(at))
	}
	return float(graph.Stack([]*graph.Array{paddle(0, 0).Or(paddle(1, pongColumns-1)), ball(s.Ball), ball(s.LastBall)},
		2))
}

// Draw paints the paddles and the ball.
func (e Pong) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, pongRows, pongColumns)
	v := draw.Grid(b.Canvas, e.Spec().ID, state, func(s PongState) *graph.Array { return s.Paddles }, 2)
	ball := draw.Grid(b.Canvas, e.Spec().ID, state, func(s PongState) *graph.Array { return s.Ball }, 2)
	for i, column := range []float64{0, pongColumns - 1} {
		for dy := -pongHalf; dy <= pongHalf; dy++ {
			b.fill(draw.Ink, v[i]+float64(dy), column, 1)
		}
	}
	b.dot(draw.Accent, max(ball[0], 0), min(max(ball[1], 0), pongColumns-1), .7)
	return b.Image()
}
