package classic

import (
	"image"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(MountainCarContinuous{}) }

// MountainCarContinuous is Gym's MountainCar with continuous actions: a push in [-1, 1] (action f32[1], clipped for the
// dynamics, not for the reward). See Moore, "Efficient memory-based learning for robot control" (1990).
//
// Observation f32[2]: position and velocity. Reward -0.1 action², plus 100 on arrival. Terminated at position >= 0.45
// with velocity >= 0; truncated after 999 steps; solved at a mean return of 90.
//
// Two rules are as in gymnax 1.0.1, unlike Gymnasium. At the left wall the car's position is clipped, but it keeps its
// velocity. A negative velocity at the goal becomes 0, so that the car arrives with any velocity.
type MountainCarContinuous struct{}

// MountainCarContinuousParams are float32 scalars, in the track's own units of length and time; MaxSteps is an int32
// scalar.
type MountainCarContinuousParams struct {
	MinAction, MaxAction     *graph.Array `min:"-1" max:"1"`
	MinPosition, MaxPosition *graph.Array
	MaxSpeed                 *graph.Array `above:"0"`
	GoalPosition             *graph.Array
	GoalVelocity             *graph.Array `min:"0"` // a negative one changes nothing: see above
	Power, Gravity           *graph.Array
	MaxSteps                 *graph.Array `min:"1"`
}

// Spec of MountainCarContinuous-v0.
func (MountainCarContinuous) Spec() envs.Spec {
	return envs.Spec{ID: "MountainCarContinuous-v0", Observation: trackSpace(), Action: envs.Symmetric(1),
		MaxSteps: 999, MaxReward: new(100.), RewardThreshold: 90}
}

// DefaultParams of MountainCarContinuous-v0.
func (MountainCarContinuous) DefaultParams() MountainCarContinuousParams {
	return MountainCarContinuousParams{MinAction: graph.Scalar(-1), MaxAction: graph.Scalar(1),
		MinPosition: graph.Scalar(trackLeft), MaxPosition: graph.Scalar(trackRight),
		MaxSpeed: graph.Scalar(trackSpeed), GoalPosition: graph.Scalar(.45), GoalVelocity: graph.Scalar(0),
		Power: graph.Scalar(.0015), Gravity: graph.Scalar(.0025), MaxSteps: envs.Steps(999)}
}

// Reset draws the position from [-0.6, -0.4); the car stands.
func (MountainCarContinuous) Reset(key random.Key, _ MountainCarContinuousParams) (MountainCarState, *graph.Array) {
	return MountainCar{}.Reset(key, MountainCarParams{})
}

// Step moves the car by one unit of time. The key is not used.
func (e MountainCarContinuous) Step(_ random.Key, s MountainCarState, action *graph.Array,
	p MountainCarContinuousParams) (next MountainCarState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	force := action.Index(0)
	next = s.roll(p.Power.Mul(graph.Clamp(p.MinAction, force, p.MaxAction)), p.Gravity, p.MaxSpeed,
		p.MinPosition, p.MaxPosition)
	atGoal := next.Position.Ge(p.GoalPosition)
	next.Velocity = graph.Select(atGoal.And(next.Velocity.Lt(0)), 0., next.Velocity)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	terminated = atGoal.And(next.Velocity.Ge(p.GoalVelocity))
	reward = graph.Select(terminated, 100., 0.).Sub(force.Square().Mul(.1))
	return next, next.vector(), reward, terminated, truncated
}

// Observe stacks position and velocity.
func (MountainCarContinuous) Observe(s MountainCarState, _ MountainCarContinuousParams) *graph.Array {
	return s.vector()
}

// Draw paints the car on the hill, and the goal.
func (e MountainCarContinuous) Draw(state any, size image.Point) (image.Image, error) {
	return drawHill(e.Spec().ID, state, size, .45)
}
