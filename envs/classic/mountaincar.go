package classic

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(MountainCar{}) }

// MountainCar drives an underpowered car out of a valley by pushing left, not pushing, or pushing right (actions 0, 1,
// 2): Moore, "Efficient memory-based learning for robot control" (1990).
//
// Observation f32[2]: position and velocity. Reward -1 a step. Terminated at position >= 0.5 with velocity >= 0;
// truncated after 200 steps; solved at a mean return of -110. Equal to gymnax 1.0.1 and Gymnasium: the left wall stops
// the car.
type MountainCar struct{}

// MountainCarParams are float32 scalars, in the track's own units of length and time; MaxSteps is an int32 scalar.
type MountainCarParams struct {
	MinPosition, MaxPosition   *graph.Array
	MaxSpeed                   *graph.Array `above:"0"`
	GoalPosition, GoalVelocity *graph.Array
	Force, Gravity             *graph.Array
	MaxSteps                   *graph.Array `min:"1"`
}

// MountainCarState is float32 scalars; Time, the steps played, is an int32 scalar.
type MountainCarState struct {
	Position, Velocity *graph.Array
	Time               *graph.Array
}

const (
	trackLeft, trackRight = -1.2, .6
	trackSpeed            = .07
)

// trackSpace is the observation space of both mountain cars.
func trackSpace() envs.Box {
	return envs.Box{Low: []float64{trackLeft, -trackSpeed}, High: []float64{trackRight, trackSpeed}, Dims: []int{2},
		DType: graph.Float32}
}

// Spec of MountainCar-v0.
func (MountainCar) Spec() envs.Spec {
	return envs.Spec{ID: "MountainCar-v0", Observation: trackSpace(), Action: envs.Discrete{N: 3}, MaxSteps: 200,
		RewardThreshold: -110, MaxReward: new(-1.)}
}

// DefaultParams of MountainCar-v0.
func (MountainCar) DefaultParams() MountainCarParams {
	return MountainCarParams{MinPosition: graph.Scalar(trackLeft), MaxPosition: graph.Scalar(trackRight),
		MaxSpeed:     graph.Scalar(trackSpeed),
		GoalPosition: graph.Scalar(.5), GoalVelocity: graph.Scalar(0), Force: graph.Scalar(.001),
		Gravity: graph.Scalar(.0025), MaxSteps: envs.Steps(200)}
}

// Reset draws the position from [-0.6, -0.4); the car stands.
func (MountainCar) Reset(key random.Key, _ MountainCarParams) (MountainCarState, *graph.Array) {
	s := MountainCarState{Position: random.Uniform(key, graph.ShapeOf(graph.Float32), -.6, -.4),
		Velocity: graph.Scalar(0), Time: envs.Steps(0)}
	return s, s.vector()
}

// Step moves the car by one unit of time. The key is not used.
func (e MountainCar) Step(_ random.Key, s MountainCarState, action *graph.Array,
	p MountainCarParams) (next MountainCarState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	push := p.Force.Mul(action.Sub(1).Convert(graph.Float32))
	next = s.roll(push, p.Gravity, p.MaxSpeed, p.MinPosition, p.MaxPosition)
	atWall := next.Position.Le(p.MinPosition).And(next.Velocity.Lt(0))
	next.Velocity = graph.Select(atWall, 0., next.Velocity)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	terminated = next.Position.Ge(p.GoalPosition).And(next.Velocity.Ge(p.GoalVelocity))
	return next, next.vector(), graph.Scalar(-1), terminated, truncated
}

// Observe stacks position and velocity.
func (MountainCar) Observe(s MountainCarState, _ MountainCarParams) *graph.Array { return s.vector() }

// roll moves the car along the track, whose height is sin(3 position), for one unit of time.
func (s MountainCarState) roll(push, gravity, maxSpeed, left, right *graph.Array) MountainCarState {
	_, cos := envs.SinCos(s.Position.Mul(3))
	slope := gravity.Mul(cos)
	velocity := graph.Clamp(maxSpeed.Neg(), s.Velocity.Add(push).Sub(slope), maxSpeed)
	return MountainCarState{Position: graph.Clamp(left, s.Position.Add(velocity), right), Velocity: velocity}
}

func (s MountainCarState) vector() *graph.Array {
	return graph.Stack([]*graph.Array{s.Position, s.Velocity}, 0)
}

// Draw paints the car on the hill, and the goal.
func (e MountainCar) Draw(state any, size image.Point) (image.Image, error) {
	return drawHill(e.Spec().ID, state, size, .5)
}

// drawHill paints either mountain car.
func drawHill(id string, state any, size image.Point, goal float64) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(trackLeft-.05, -.15), draw.At(trackRight+.05, 1.15))
	v := draw.Scalars(c, id, state, func(s MountainCarState) []*graph.Array { return []*graph.Array{s.Position} })
	height := func(x float64) float64 { return .45*math.Sin(3*x) + .5 }
	const pieces = 120
	hill := []draw.Point{draw.At(trackRight, -.15), draw.At(trackLeft, -.15)}
	for i := range pieces + 1 {
		x := trackLeft + (trackRight-trackLeft)*float64(i)/pieces
		hill = append(hill, draw.At(x, height(x)))
	}
	c.Polygon(draw.Steel, hill...)
	top := draw.At(goal, height(goal)+.18)
	c.Line(draw.Ink, draw.At(goal, height(goal)), top, .01)
	c.Polygon(draw.Signal, top, draw.At(goal+.09, top.Y-.03), draw.At(goal, top.Y-.06))

	x := v[0]
	slope := math.Atan2(1, .45*3*math.Cos(3*x)) // of the road, from straight up
	place := func(along, above float64) draw.Point {
		return draw.At(x, height(x)).Polar(slope, along).Polar(slope-math.Pi/2, above)
	}
	c.Polygon(draw.Ink, place(-.07, .035), place(.07, .035), place(.07, .07), place(.03, .1), place(-.04, .1),
		place(-.07, .07))
	for _, wheel := range []float64{-.04, .04} {
		c.Disc(draw.Accent, place(wheel, .03), .024)
	}
	return c.Image()
}
