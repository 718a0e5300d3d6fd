package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/xlatest"
)

// shelf is an environment of one step: of four actions the one after the state's number is right, the one before it
// illegal.
type shelf struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](shelf{}) }

func (shelf) Spec() envs.Spec {
	return envs.Spec{ID: "Shelf-v0", Observation: envs.Discrete{N: 4}, Action: envs.Discrete{N: 4}, MaxSteps: 1,
		LegalMask: true}
}

func (shelf) DefaultParams() graph.None { return graph.None{} }

func (e shelf) Reset(key random.Key, p graph.None) (state, obs *graph.Array) {
	state = random.Randint(key, graph.ShapeOf(graph.Int32), 0, 4)
	return state, e.Observe(state, p)
}

func (shelf) Observe(s *graph.Array, _ graph.None) *graph.Array { return s }

func (shelf) Legal(s *graph.Array, _ graph.None) *graph.Array {
	return graph.Ne(graph.Iota(4), graph.Rem(graph.Add(s, 3), 4))
}

func (e shelf) Step(_ random.Key, s, action *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	right := graph.Eq(action, graph.Rem(graph.Add(s, 1), 4))
	illegal := graph.Eq(action, graph.Rem(graph.Add(s, 3), 4))
	reward = graph.Select(illegal, -1000., graph.Convert(right, graph.Float32))
	return s, e.Observe(s, p), reward, graph.Scalar(true), graph.Scalar(false)
}

// Illegal actions are never played, and the best legal action is learned.
func TestLearnsUnderMasks(t *testing.T) {
	long.Only(t) // TestLearnsSeveralChoices has masks, too
	r := start(t, xlatest.Open(t, 1), small(func(c *Config) {
		c.Env, c.Policy, c.Envs, c.LearningRate, c.Steps = "Shelf-v0", "linear", 16, settings.Num(.02), 16*16*40
	}))
	all := steps(t, r, 40)
	for i, m := range all {
		require.GreaterOrEqual(t, of(t, m, "min_return"), 0., "update %d: an illegal action was played", i)
		require.LessOrEqual(t, of(t, m, "entropy"), math.Log(3)+1e-5, "of three legal actions")
	}
	require.Less(t, of(t, all[0], "mean_return"), .5)
	require.Greater(t, of(t, all[39], "mean_return"), .95)
}
