package small

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(PointRobot{}) }

// PointRobot is a point that moves by its action, each coordinate at most MaxForce. Reset draws a goal on the upper
// half of a circle, which it does not show, and a place inside. Within GoalRadius of the goal the reward is 1 and
// the point starts again at a new place; with DenseReward it is minus the distance at all times (Rakelly et al.,
// "Efficient off-policy meta-reinforcement learning", 2019). Never terminated; truncated after 100 steps.
//
// Observation f32[6]: the place, the last reward, the last action (not cut off), and the time, which rises from -1
// by 1/50 a step. Equal to gymnax 1.0.1.
type PointRobot struct{}

// PointRobotParams are scalars: bool DenseReward and CenterInit (start in the middle), int32 MaxSteps, float32 the
// others.
type PointRobotParams struct {
	MaxForce     *graph.Array `min:"0" max:"0.1000001"` // float32 0.1: actions are not larger
	CircleRadius *graph.Array `min:"0"`
	GoalRadius   *graph.Array `min:"0"`
	DenseReward  *graph.Array
	CenterInit   *graph.Array
	MaxSteps     *graph.Array `min:"1"`
}

// PointRobotState holds vectors f32[2], a float32 scalar, and the int32 scalars Goals (reached so far) and Time.
type PointRobotState struct{ Place, Goal, LastAction, LastReward, Goals, Time *graph.Array }

// Spec of PointRobot-misc-v1.
func (PointRobot) Spec() envs.Spec {
	return envs.Spec{ID: "PointRobot-misc-v1", Observation: unbounded(6), Action: box(-.1, .1, 2), MaxSteps: 100}
}

// DefaultParams of PointRobot-misc-v1.
func (PointRobot) DefaultParams() PointRobotParams {
	return PointRobotParams{MaxForce: graph.Scalar(.1), CircleRadius: graph.Scalar(1), GoalRadius: graph.Scalar(.2),
		DenseReward: envs.False(), CenterInit: envs.False(), MaxSteps: envs.Steps(100)}
}

func onCircle(angle, radius *graph.Array) *graph.Array {
	return graph.Stack([]*graph.Array{radius.Mul(angle.Cos()), radius.Mul(angle.Sin())}, 0)
}

// place draws where the point starts.
func (PointRobot) place(key random.Key, p PointRobotParams) *graph.Array {
	forRadius, forAngle := random.Split2(key)
	scalar := graph.ShapeOf(graph.Float32)
	radius := random.Uniform(forRadius, scalar, 0, p.CircleRadius)
	at := onCircle(random.Uniform(forAngle, scalar, 0, math.Pi), radius)
	return graph.Select(p.CenterInit, graph.ZerosLike(at), at)
}

// Reset draws goal and place.
func (e PointRobot) Reset(key random.Key, p PointRobotParams) (PointRobotState, *graph.Array) {
	forGoal, forPlace := random.Split2(key)
	angle := random.Uniform(forGoal, graph.ShapeOf(graph.Float32), 0, math.Pi)
	s := PointRobotState{Place: e.place(forPlace, p), Goal: onCircle(angle, p.CircleRadius),
		LastReward: graph.Scalar(0),
		LastAction: graph.Zeros(graph.ShapeOf(graph.Float32, 2)), Goals: envs.Steps(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the point. Whether the goal is reached is judged before the move.
func (e PointRobot) Step(key random.Key, s PointRobotState, action *graph.Array,
	p PointRobotParams) (next PointRobotState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	distance := s.Goal.Sub(s.Place).Square().Sum().Sqrt()
	reached := distance.Le(p.GoalRadius)
	reward = graph.Select(p.DenseReward, distance.Neg(), float(reached))
	moved := s.Place.Add(graph.Clamp(p.MaxForce.Neg(), action, p.MaxForce))
	next = PointRobotState{Place: graph.Select(reached, e.place(key, p), moved), Goal: s.Goal, LastReward: reward,
		LastAction: action, Goals: s.Goals.Add(number(reached))}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), reward, envs.False(), truncated
}

// Observe is the place, the last reward, the last action and the time.
func (PointRobot) Observe(s PointRobotState, _ PointRobotParams) *graph.Array {
	return graph.Concatenate(0, s.Place, s.LastReward.Reshape(1), s.LastAction, hundredths(s.Time).Reshape(1))
}

// Draw paints the half circle, the goal and the point.
func (e PointRobot) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-1.3, -.3), draw.At(1.3, 1.3))
	place := draw.Grid(c, e.Spec().ID, state, func(s PointRobotState) *graph.Array { return s.Place }, 2)
	goal := draw.Grid(c, e.Spec().ID, state, func(s PointRobotState) *graph.Array { return s.Goal }, 2)
	for i := range 32 {
		a, b := math.Pi*float64(i)/32, math.Pi*float64(i+1)/32
		c.Line(draw.Steel, draw.At(math.Cos(a), math.Sin(a)), draw.At(math.Cos(b), math.Sin(b)), .02)
	}
	c.Disc(draw.Wood, draw.At(goal[0], goal[1]), .2)
	c.Disc(draw.Accent, draw.At(place[0], place[1]), .05)
	return c.Image()
}
