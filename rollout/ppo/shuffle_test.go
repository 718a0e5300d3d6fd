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
	"xlarun/rollout/train"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// testBatch returns an update of small settings, with what it learns from.
func testBatch(t *testing.T, change func(c *Config)) (*update, State, batch) {
	t.Helper()
	c := small(change)
	g, err := c.program()
	require.NoError(t, err)
	s := g.start(random.New(1))
	u := g.newUpdate(s, inputs{Updates: graph.Scalar(10)})
	_, r := u.collect(s, random.New(2))
	advantages, targets := calculateGAE(r.Reward, r, u.Gamma, u.Lambda)
	return u, s, evaluated(t, batch{Observation: r.Observation, Legal: r.Legal, Action: r.Action, Key: r.Key,
		First: r.First, LogProb: r.LogProb.Sub(.1), // so that ratios are not 1
		Value: r.Value, Advantage: advantages, Target: targets})
}

// gradientOf returns the gradient of some rows, in parts, with the losses.
func (u *update) gradientOf(s State, all minibatches, rows []int32, parts int) train.Gradients[Params, losses] {
	u.stepper.Loss, u.stepper.Parts = u.minibatchLoss(all), parts
	return u.stepper.Gradient(train.State[Params]{Params: s.Params, Scale: train.NoScale{}}, graph.Int32s(rows))
}

// Gradient and losses of a minibatch are the same in parts and as a whole, for transitions, blocks and sequences.
// Advantages are normalized by the whole minibatch.
func TestAccumulatedGradient(t *testing.T) {
	for i, c := range []struct {
		policy, shuffle string
		rows            []int32
	}{{"mlp:8", "permutation", []int32{3, 60, 17, 9, 2, 31, 44, 50}}, {"mlp:8", "blocks", []int32{3, 11, 0, 7}},
		{"gru:4", "permutation", []int32{2, 0, 3, 1}}} {
		u, s, b := testBatch(t, func(x *Config) { x.Policy, x.Shuffle = c.policy, c.shuffle })
		all := u.minibatches(s.EnvStates, b)
		whole := evaluated(t, u.gradientOf(s, all, c.rows, 1))
		for _, parts := range []int{2, 4} {
			sum := evaluated(t, u.gradientOf(s, all, c.rows, parts))
			for k, a := range graph.Leaves(whole.Params) {
				want, got := floatsOf(t, a), floatsOf(t, graph.Leaves(sum.Params)[k])
				most := 0.
				for _, x := range want {
					most = max(most, math.Abs(x))
				}
				require.InDeltaSlice(t, want, got, 1e-5*max(1, most), "case %d, %d parts, leaf %d", i, parts, k)
			}
			want, got := floatsOf(t, whole.Metrics), floatsOf(t, sum.Metrics)
			require.InDeltaSlice(t, want, got, 1e-4*max(1, math.Abs(want[1])), "case %d, %d parts", i, parts)
			require.Greater(t, math.Abs(want[0]), 0.)
		}
	}
}

// A block is a step of all environments: its rows are the rows of its transitions.
func TestBlocks(t *testing.T) {
	u, s, b := testBatch(t, nil)
	single := u.minibatches(s.EnvStates, b)
	u.config.Shuffle = "blocks"
	blocks := u.minibatches(s.EnvStates, b)
	require.Equal(t, 16, blocks.rows())
	require.Equal(t, 64, single.rows())
	got := u.gradientOf(s, blocks, []int32{5, 2}, 1)
	want := u.gradientOf(s, single, []int32{20, 21, 22, 23, 8, 9, 10, 11}, 1)
	require.InDeltaSlice(t, floatsOf(t, want), floatsOf(t, got), 1e-6)
}

// Both ways to shuffle, and gradients in parts, learn.
func TestLearnsByBlocksAndParts(t *testing.T) {
	long.Only(t)
	b := xlatest.Open(t, 1)
	for _, c := range []struct {
		shuffle    string
		accumulate int
	}{{"blocks", 1}, {"permutation", 4}} {
		r := start(t, b, small(func(x *Config) {
			x.Env, x.Policy, x.Envs, x.LearningRate, x.Steps, x.Shuffle, x.Accumulate = "Shelf-v0", "linear", 16,
				settings.Num(.02), 16*16*40, c.shuffle, c.accumulate
		}))
		all := steps(t, r, 40)
		require.Greater(t, of(t, all[39], "mean_return"), .95, "%v", c)
		require.EqualValues(t, 16, of(t, all[39], "minibatches"))
	}
}

// locks is an environment of one step with two choices at once: the right ones are the two parts of the state, and the
// one after the first part is illegal.
type locks struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](locks{}) }

func (locks) Spec() envs.Spec {
	return envs.Spec{ID: "Locks-v0", Observation: envs.Discrete{N: 6}, Action: envs.MultiDiscrete{N: []int{3, 2}},
		MaxSteps: 1, LegalMask: true}
}
func (locks) DefaultParams() graph.None { return graph.None{} }
func (e locks) Reset(key random.Key, p graph.None) (state, obs *graph.Array) {
	state = random.Randint(key, graph.ShapeOf(graph.Int32), 0, 6)
	return state, e.Observe(state, p)
}
func (locks) Observe(s *graph.Array, _ graph.None) *graph.Array { return s }
func (locks) Legal(s *graph.Array, _ graph.None) *graph.Array {
	illegal := graph.Rem(graph.Add(graph.Quo(s, 2), 1), 3)
	return graph.Concatenate(0, graph.Ne(graph.Iota(3), illegal), graph.Of([]bool{true, true}))
}
func (e locks) Step(_ random.Key, s, action *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	first, second := graph.Index(action, 0), graph.Index(action, 1)
	illegal := graph.Eq(first, graph.Rem(graph.Add(graph.Quo(s, 2), 1), 3))
	reward = graph.Add(graph.Convert(graph.Eq(first, graph.Quo(s, 2)), graph.Float32),
		graph.Convert(graph.Eq(second, graph.Rem(s, 2)), graph.Float32))
	return s, e.Observe(s, p), graph.Select(illegal, -1000., reward), graph.Scalar(true),
		graph.Scalar(false)
}

// Several choices at once are learned, and no illegal one is made.
func TestLearnsSeveralChoices(t *testing.T) {
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		b = xlatest.Open(t, 1)
	}
	r := start(t, b, small(func(c *Config) {
		c.Env, c.Policy, c.Envs, c.LearningRate, c.Steps = "Locks-v0", "linear", 16, settings.Num(.02), 16*16*40
	}))
	all := steps(t, r, 40)
	for i, m := range all {
		require.GreaterOrEqual(t, of(t, m, "min_return"), 0., "update %d: an illegal action was played", i)
		require.LessOrEqual(t, of(t, m, "entropy"), math.Log(4)+1e-5)
	}
	require.Less(t, of(t, all[0], "mean_return"), 1.3)
	require.Greater(t, of(t, all[39], "mean_return"), 1.9)
}
