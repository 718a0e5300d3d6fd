package tasks

import (
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(NewArm(100)) }

// Arm is the planar arm of Cully et al., "Robots that can adapt like animals" (2015), with the formulas of QDax 0.5.0.
// The action f32[joints], clipped to [0, 1], has the angle of each joint against the link before it, 0 for -π and 1 for
// π. The reward is minus the standard deviation of the action. The descriptor is the position of the hand, in a square
// of side 1 that the straight arm reaches from its center.
type Arm struct{ size }

// NewArm returns an arm with a number of joints.
func NewArm(joints int) Arm { return Arm{size{"joints", joints}} }

// Spec of Arm-v0.
func (a Arm) Spec() envs.Spec {
	return envs.Spec{ID: "Arm-v0", Observation: envs.Symmetric(1), Action: a.action(), MaxSteps: 1,
		Descriptor: envs.Positive(1, 1), Descriptors: []string{"x of the hand", "y of the hand"}}
}

// Resize returns the arm with another number of joints.
func (a Arm) Resize(name string, value int) (envs.Environment, error) {
	s, err := a.resized(name, value)
	return envs.Erase[State, Params](Arm{s}), err
}

// Reset starts with the hand in the center.
func (Arm) Reset(random.Key, Params) (State, *graph.Array) {
	return State{envs.Steps(0), graph.Float32s([]float32{.5, .5})}, nothing()
}

// Step moves the joints.
func (a Arm) Step(_ random.Key, s State, action *graph.Array,
	p Params) (next State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(a.Spec(), action)
	x := graph.Clamp(0., action, 1.)
	deviation := x.Sub(x.Mean()).Square().Mean().Sqrt()
	angles := graph.CumSum(x.Mul(float32(2*math.Pi)).Sub(float32(math.Pi)), 0)
	reach := func(link *graph.Array) *graph.Array { return link.Sum().Div(float32(2 * a.n)).Add(float32(.5)) }
	next.Descriptor = graph.Stack([]*graph.Array{reach(angles.Cos()), reach(angles.Sin())}, 0)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, nothing(), deviation.Neg(), envs.True(), truncated
}

// Describe is the descriptor of the action.
func (Arm) Describe(s State, _ Params) *graph.Array { return s.Descriptor }

// Observe is 0: there is nothing to see.
func (Arm) Observe(State, Params) *graph.Array { return nothing() }
