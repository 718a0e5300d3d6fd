package small

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Reacher{}) }

// Reacher moves the tip of an arm with two links of length 1 to a goal. The action f32[2] in [-1, 1] is the joints'
// angular acceleration, without gravity, friction or inertia; both angles are relative to the same axis. A step of 50
// ms pays exp(-distance²). Never terminated; truncated after 100 steps. It equals Reacher in gymnax 1.0.1, which is not
// MuJoCo's Reacher and does not clip the action.
//
// Observation f32[8]: cosines, sines and velocities of both joints, and the goal's position.
type Reacher struct{}

// ReacherParams are float32 scalars; MaxSteps is an int32 scalar.
type ReacherParams struct {
	TorqueScale *graph.Array
	Dt          *graph.Array `above:"0"` // seconds between steps
	MaxSteps    *graph.Array `min:"1"`
}

// ReacherState is f32[2] each; Time is an int32 scalar.
type ReacherState struct{ Angles, AngleVels, Goal, Time *graph.Array }

// Spec of Reacher-misc-v1.
func (Reacher) Spec() envs.Spec {
	return envs.Spec{ID: "Reacher-misc-v1", Observation: envs.Symmetric(1, 1, 1, 1, envs.Unbounded, envs.Unbounded, 2,
		2), Action: envs.Symmetric(1, 1), MaxSteps: 100, MaxReward: new(1.)}
}

// DefaultParams of Reacher-misc-v1.
func (Reacher) DefaultParams() ReacherParams {
	return ReacherParams{TorqueScale: graph.Scalar(1), Dt: graph.Scalar(.05), MaxSteps: envs.Steps(100)}
}

// Reset draws the angles from ±π, the velocities from ±1 and the goal from the square of ±2.
func (e Reacher) Reset(key random.Key, p ReacherParams) (ReacherState, *graph.Array) {
	keys := random.SplitN(key, 3)
	two := graph.ShapeOf(graph.Float32, 2)
	s := ReacherState{Angles: random.Uniform(keys[0], two, float32(-math.Pi), float32(math.Pi)),
		AngleVels: random.Uniform(keys[1], two, -1, 1),
		Goal:      random.Uniform(keys[2], two, -2, 2), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step integrates the velocities, then the angles with the new velocities. The key is not used.
func (e Reacher) Step(_ random.Key, s ReacherState, action *graph.Array,
	p ReacherParams) (next ReacherState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	next = ReacherState{AngleVels: s.AngleVels.Add(p.Dt.Mul(p.TorqueScale).Mul(action)),
		Goal: s.Goal}
	next.Angles = s.Angles.Add(p.Dt.Mul(next.AngleVels))
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	sin, cos := envs.SinCos(next.Angles)
	end := graph.Stack([]*graph.Array{cos.Sum(), sin.Sum()}, 0)
	reward = end.Sub(s.Goal).Square().Sum().Neg().Exp()
	return next, e.Observe(next, p), reward, envs.False(), truncated
}

// Observe is the arm and the goal.
func (Reacher) Observe(s ReacherState, _ ReacherParams) *graph.Array {
	sin, cos := envs.SinCos(s.Angles)
	return graph.Concatenate(0, cos, sin, s.AngleVels, s.Goal)
}

// Draw paints the arm and the goal.
func (e Reacher) Draw(state any, size image.Point) (image.Image, error) {
	id := e.Spec().ID
	c := draw.NewCanvas(size, draw.At(-2.3, -2.3), draw.At(2.3, 2.3))
	v := draw.Grid(c, id, state, func(s ReacherState) *graph.Array { return s.Angles }, 2)
	goal := draw.Grid(c, id, state, func(s ReacherState) *graph.Array { return s.Goal }, 2)
	c.Disc(draw.Signal, draw.At(goal[0], goal[1]), .12)
	from := draw.At(0, 0)
	for _, angle := range v {
		to := draw.At(from.X+math.Cos(angle), from.Y+math.Sin(angle))
		c.Line(draw.Steel, from, to, .12)
		c.Disc(draw.Ink, from, .09)
		from = to
	}
	c.Disc(draw.Accent, from, .1)
	return c.Image()
}
