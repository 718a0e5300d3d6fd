package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(SimpleBandit{}) }

// SimpleBandit has eleven arms, which pay 0, 0.1, …, 1 in an order that Reset draws. An episode is one step. The
// observation f32[1, 1] is 1, so that the best mean of a policy over new episodes is 0.5. Equal to gymnax 1.0.1.
type SimpleBandit struct{}

// SimpleBanditParams is an int32 scalar.
type SimpleBanditParams struct {
	MaxSteps *graph.Array `min:"1"`
}

// SimpleBanditState holds what the arms pay, f32[11], the sum of 1 - reward, f32[], and the
// time, i32[].
type SimpleBanditState struct{ Rewards, Regret, Time *graph.Array }

const banditArms = 11

// Spec of SimpleBandit-bsuite-v1.
func (SimpleBandit) Spec() envs.Spec {
	return envs.Spec{ID: "SimpleBandit-bsuite-v1", Observation: box(1, 1, 1, 1), Action: envs.Discrete{N: banditArms},
		MaxSteps: 100, MaxReward: new(1.)}
}

// DefaultParams of SimpleBandit-bsuite-v1.
func (SimpleBandit) DefaultParams() SimpleBanditParams {
	return SimpleBanditParams{MaxSteps: envs.Steps(100)}
}

// Reset draws the order of the arms.
func (e SimpleBandit) Reset(key random.Key, p SimpleBanditParams) (SimpleBanditState, *graph.Array) {
	order := random.Choice(key, banditArms, random.Draws(banditArms), random.WithoutReplacement())
	s := SimpleBanditState{graph.Take(graph.Linspace(0, 1, banditArms), order, 0), graph.Scalar(0), envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step pays what the arm does. The key is not used.
func (e SimpleBandit) Step(_ random.Key, s SimpleBanditState, action *graph.Array,
	p SimpleBanditParams) (next SimpleBanditState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	reward = graph.DynamicIndex(s.Rewards, action, 0)
	next = SimpleBanditState{Rewards: s.Rewards, Regret: s.Regret.Add(1).Sub(reward)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), reward, envs.True(), truncated
}

// Observe is 1.
func (SimpleBandit) Observe(SimpleBanditState, SimpleBanditParams) *graph.Array {
	return graph.Ones(graph.ShapeOf(graph.Float32, 1, 1))
}

// Draw paints the arms as bars with the height of what they pay.
func (e SimpleBandit) Draw(state any, size image.Point) (image.Image, error) {
	c := newBars(size, banditArms)
	v := draw.Grid(c, e.Spec().ID, state, func(s SimpleBanditState) *graph.Array { return s.Rewards }, banditArms)
	return bars(c, 1, -1, v...)
}
