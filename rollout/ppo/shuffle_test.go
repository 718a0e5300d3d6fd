package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// experienced is experience of small settings, as an update makes it, and what learns of it.
func experienced(t *testing.T, change func(c *Config)) (*learner, State, experience) {
	t.Helper()
	c := small(change)
	g, err := c.program()
	require.NoError(t, err)
	s := g.start(random.New(1))
	col := g.normalizing(s)
	worlds, m := col.collect(s.Params, s.Worlds, col.chances(keysOf(random.New(2), c.Horizon, c.Envs)))
	e := g.estimate(col, s, worlds, m)
	l := g.learner(s.Value, inputs{Updates: graph.Scalar(10)}, s.Update)
	advantages, targets := advantages(m.Reward, e, m, l.Gamma, l.Lambda)
	logs := graph.VMap(graph.VMap(func(m moment) *graph.Array {
		return graph.Sub(col.acting.LogProb(s.Params.Head, col.actions(m.Out, m.Legal), m.Draw), .1) // so that ratios are not 1
	}))(m)
	return l, s, experience{Observation: m.Observation, Legal: m.Legal, Draw: m.Draw, Key: m.Key, First: m.First, LogProb: logs, Value: e.Values, Advantage: advantages, Target: targets}
}

// The gradient of a minibatch in parts is that of the whole, and so are the figures: of steps, of blocks and of sequences, with normalised advantages, which are the whole minibatch's.
func TestAccumulatedGradient(t *testing.T) {
	for i, c := range []struct {
		policy string
		blocks bool
		rows   []int32
	}{{"mlp:8", false, []int32{3, 60, 17, 9, 2, 31, 44, 50}}, {"mlp:8", true, []int32{3, 11, 0, 7}}, {"gru:4", false, []int32{2, 0, 3, 1}}} {
		l, s, e := experienced(t, func(x *Config) { x.Policy = c.policy })
		x := l.experiences(s, e, c.blocks)
		whole, f := l.gradient(s.Params, nil, graph.Int32s(c.rows), 1, x)
		for _, parts := range []int{2, 4} {
			sum, figures := l.gradient(s.Params, nil, graph.Int32s(c.rows), parts, x)
			for k, a := range graph.Leaves(whole) {
				want, err := graph.Floats(a)
				require.NoError(t, err)
				got, err := graph.Floats(graph.Leaves(sum)[k])
				require.NoError(t, err)
				most := 0.
				for _, x := range want {
					most = max(most, math.Abs(x))
				}
				require.InDeltaSlice(t, want, got, 1e-5*max(1, most), "case %d, %d parts, leaf %d", i, parts, k)
			}
			want, got := floatsOf(t, f), floatsOf(t, figures)
			require.InDeltaSlice(t, want, got, 1e-4*max(1, math.Abs(want[1])), "case %d, %d parts", i, parts)
			require.Greater(t, math.Abs(want[0]), 0.)
		}
	}
}

// A block is a step of all environments: rows of blocks are those of the steps that they hold.
func TestBlocks(t *testing.T) {
	l, s, e := experienced(t, nil)
	blocks, single := l.experiences(s, e, true), l.experiences(s, e, false)
	require.Equal(t, 16, blocks.rows)
	require.Equal(t, 64, single.rows)
	a, f := l.gradient(s.Params, nil, graph.Int32s([]int32{5, 2}), 1, blocks)
	b, g := l.gradient(s.Params, nil, graph.Int32s([]int32{20, 21, 22, 23, 8, 9, 10, 11}), 1, single)
	require.InDeltaSlice(t, floatsOf(t, b), floatsOf(t, a), 1e-6)
	require.InDeltaSlice(t, floatsOf(t, g), floatsOf(t, f), 1e-6)
}

// Both ways to shuffle, and gradients in parts, learn.
func TestLearnsByBlocksAndParts(t *testing.T) {
	b := open(t)
	for _, c := range []struct {
		shuffle    string
		accumulate int
	}{{"blocks", 1}, {"permutation", 4}} {
		r := start(t, b, small(func(x *Config) {
			x.Env, x.Policy, x.Envs, x.LearningRate, x.Steps, x.Shuffle, x.Accumulate = "Shelf-v0", "linear", 16, settings.Num(.02), 16*16*40, c.shuffle, c.accumulate
		}))
		all := steps(t, r, 40)
		require.Greater(t, of(t, all[39], "mean_return"), .95, "%v", c)
		require.EqualValues(t, 16, of(t, all[39], "minibatches"))
	}
}

// locks is an environment of one step with two choices at once: the right ones are the two parts of the state, and the one behind the first part is illegal.
type locks struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](locks{}) }

func (locks) Spec() envs.Spec {
	return envs.Spec{ID: "Locks-v0", Observation: envs.Discrete{N: 6}, Action: envs.MultiDiscrete{N: []int{3, 2}}, MaxSteps: 1, LegalMask: true}
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
func (e locks) Step(_ random.Key, s, action *graph.Array, p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	first, second := graph.Index(action, 0), graph.Index(action, 1)
	illegal := graph.Eq(first, graph.Rem(graph.Add(graph.Quo(s, 2), 1), 3))
	reward = graph.Add(graph.Convert(graph.Eq(first, graph.Quo(s, 2)), graph.Float32), graph.Convert(graph.Eq(second, graph.Rem(s, 2)), graph.Float32))
	return s, e.Observe(s, p), graph.Select(illegal, -1000., reward), graph.Ones(graph.ShapeOf(graph.Bool)), graph.Zeros(graph.ShapeOf(graph.Bool))
}

// Several choices at once are learned, and no illegal one is made.
func TestLearnsSeveralChoices(t *testing.T) {
	r := start(t, open(t), small(func(c *Config) {
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
