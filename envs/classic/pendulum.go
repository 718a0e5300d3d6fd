package classic

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Pendulum{}) }

// Pendulum swings a pendulum up, and holds it, by a torque in [-2, 2] Nm (action f32[1], clipped).
//
// Observation f32[3]: cosine and sine of the angle (0 upright), angular velocity (rad/s). Reward -(angle² + 0.1
// velocity² + 0.001 torque²) of the state before the step, with the angle in [-π, π). Never terminated; truncated after
// 200 steps of 50 ms. There is no reward threshold; good policies reach about -150. Equal to gymnax 1.0.1 and
// Gymnasium.
type Pendulum struct{}

// PendulumParams are float32 scalars in SI units; MaxSteps is an int32 scalar.
type PendulumParams struct {
	MaxSpeed  *graph.Array `above:"0"`       // rad/s
	MaxTorque *graph.Array `min:"0" max:"2"` // actions end at ±2
	Dt        *graph.Array `above:"0"`       // seconds between steps
	G         *graph.Array // gravity
	M, L      *graph.Array `above:"0"` // mass, length
	MaxSteps  *graph.Array `min:"1"`
}

// PendulumState is float32 scalars; Theta is not wrapped, LastU is the torque of the last step. Time, the steps played,
// is an int32 scalar.
type PendulumState struct {
	Theta, ThetaDot *graph.Array
	LastU           *graph.Array
	Time            *graph.Array
}

// Spec of Pendulum-v1.
func (Pendulum) Spec() envs.Spec {
	return envs.Spec{ID: "Pendulum-v1", Observation: envs.Symmetric(1, 1, 8), Action: envs.Symmetric(2),
		MaxSteps: 200, MaxReward: new(0.)}
}

// DefaultParams of Pendulum-v1.
func (Pendulum) DefaultParams() PendulumParams {
	return PendulumParams{MaxSpeed: graph.Scalar(8), MaxTorque: graph.Scalar(2), Dt: graph.Scalar(.05),
		G: graph.Scalar(10), M: graph.Scalar(1), L: graph.Scalar(1), MaxSteps: envs.Steps(200)}
}

// Reset draws the angle from ±π and the velocity from ±1.
func (e Pendulum) Reset(key random.Key, p PendulumParams) (PendulumState, *graph.Array) {
	high := graph.Float32s([]float32{math.Pi, 1})
	v := graph.Unstack(random.Uniform(key, graph.ShapeOf(graph.Float32, 2), high.Neg(), high), 0)
	s := PendulumState{Theta: v[0], ThetaDot: v[1], LastU: graph.Scalar(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step integrates the velocity, then the angle with the new velocity. The key is not used.
func (e Pendulum) Step(_ random.Key, s PendulumState, action *graph.Array,
	p PendulumParams) (next PendulumState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	u := graph.Clamp(p.MaxTorque.Neg(), action.Index(0), p.MaxTorque)
	cost := envs.WrapAngle(s.Theta).Square().Add(s.ThetaDot.Square().Mul(.1).Add(u.Square().Mul(.001)))

	fall := p.Dt.Mul(p.G.Mul(1.5).Div(p.L))
	drive := p.Dt.Mul(graph.Div(3, p.M.Mul(p.L.Square())))
	sin, _ := envs.SinCos(s.Theta)
	thetaDot := s.ThetaDot.Add(fall.Mul(sin).Add(drive.Mul(u)))
	next = PendulumState{ThetaDot: graph.Clamp(p.MaxSpeed.Neg(), thetaDot, p.MaxSpeed), LastU: u}
	next.Theta = s.Theta.Add(p.Dt.Mul(next.ThetaDot))
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), cost.Neg(), envs.False(), truncated
}

// Observe is cosine and sine of the angle and the velocity.
func (Pendulum) Observe(s PendulumState, _ PendulumParams) *graph.Array {
	sin, cos := envs.SinCos(s.Theta)
	return graph.Stack([]*graph.Array{cos, sin, s.ThetaDot}, 0)
}

// Draw paints the rod, and the last torque as an arc around the hinge.
func (e Pendulum) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-1.3, -1.3), draw.At(1.3, 1.3))
	v := draw.Scalars(c, e.Spec().ID, state, func(s PendulumState) []*graph.Array {
		return []*graph.Array{s.Theta, s.LastU}
	})
	hinge := draw.At(0, 0)
	// Positive angles turn counter-clockwise, as in Gymnasium's pictures.
	c.Line(draw.Wood, hinge, hinge.Polar(-v[0], 1), .2)
	const pieces = 24
	sweep := -v[1] * math.Pi / 4 // a quarter turn at ±2 Nm
	for i := range pieces {
		from, to := sweep*float64(i)/pieces, sweep*float64(i+1)/pieces
		c.Line(draw.Signal, hinge.Polar(from, .3), hinge.Polar(to, .3), .03)
	}
	c.Disc(draw.Ink, hinge, .06)
	return c.Image()
}
