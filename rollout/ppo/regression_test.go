package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// flawed pays -1 a step, ends after 4, and now and then pays NaN.
type flawed struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](flawed{}) }

func (flawed) Spec() envs.Spec {
	return envs.Spec{ID: "Flawed-v0", Observation: envs.Box{Low: []float64{0}, High: []float64{4}, Dims: []int{1},
		DType: graph.Float32}, Action: envs.Discrete{N: 2},
		MaxSteps: 4}
}
func (flawed) DefaultParams() graph.None { return graph.None{} }
func (e flawed) Reset(_ random.Key, p graph.None) (state, obs *graph.Array) {
	state = graph.Scalar(0)
	return state, e.Observe(state, p)
}
func (flawed) Observe(s *graph.Array, _ graph.None) *graph.Array { return graph.Reshape(s, 1) }
func (e flawed) Step(key random.Key, s, _ *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	next = graph.Add(s, 1)
	reward = graph.Select(graph.Lt(random.Uniform(key, graph.ShapeOf(graph.Float32), 0, 1), .05),
		graph.Scalar(math.NaN()), -1.)
	return next, e.Observe(next, p), reward, graph.Ge(next, 4), envs.False()
}

// lure is one step long: two actions cost 1, the reward of the third is NaN.
type lure struct{ flawed }

func init() { envs.MustRegister[*graph.Array, graph.None](lure{}) }

func (lure) Spec() envs.Spec {
	return envs.Spec{ID: "Lure-v0", Observation: flawed{}.Spec().Observation, Action: envs.Discrete{N: 3}, MaxSteps: 1}
}
func (e lure) Step(_ random.Key, s, action *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	return s, e.Observe(s, p), graph.Select(graph.Eq(action, 2), graph.Scalar(math.NaN()), -1.),
		graph.Not(envs.False()), envs.False()
}

// Mistakes that were made once. No case needs a backend.
func TestRegressions(t *testing.T) {
	// Rewards that are NaN ended learning for good.
	failed := 0.
	_, metrics := evalUpdates(t, smallProgram(t, func(c *Config) {
		c.Env, c.NormalizeRewards, c.Epochs = "Flawed-v0", true, 1
	}), 4)
	for _, m := range metrics {
		failed += m["failed"]
		for _, name := range []string{"recent_return", "policy_loss", "value_loss", "entropy", "gradient_norm"} {
			require.False(t, math.IsNaN(m[name]), "%s", name)
		}
		require.EqualValues(t, -4, m["recent_return"])
		require.Zero(t, m["skipped"])
	}
	require.Positive(t, failed)
	// NaN gradients made all parameters NaN.
	states, metrics := evalUpdates(t, smallProgram(t, func(c *Config) {
		c.LearningRate, c.Epochs = settings.Num(1e38), 1
	}), 4)
	last := metrics[3]
	require.EqualValues(t, 4, last["skipped"]+last["minibatches"])
	require.Positive(t, last["skipped"])
	for _, x := range floatsOf(t, []any{states[3].Params, states[3].Optimizer, states[3].Best.Actor}) {
		require.False(t, math.IsNaN(x))
	}
	// The means over minibatches were 0 where all minibatches were skipped.
	require.Zero(t, last["minibatches"])
	for _, name := range []string{"policy_loss", "value_loss", "entropy", "kl", "clip_fraction", "gradient_norm"} {
		require.True(t, math.IsNaN(last[name]), "%s", name)
	}
	config := small(nil)
	for _, row := range config.Board() {
		require.True(t, row.Gaps, "%s", row.Label)
	}
	// An agent without an episode was taken for better than one with a negative return.
	mean, err := graph.Floats(
		nanToLowest(recent{graph.Float32s([]float32{-900, 0}), graph.Float32s([]float32{3, 0})}.mean()))
	require.NoError(t, err)
	require.Equal(t, []float64{-300, math.Inf(-1)}, mean)
	// Members were judged by episodes of the default length.
	for given, want := range map[string]int{"": 200, "1000": 1000, "50..70": 70} {
		c := DefaultConfig()
		c.EvalEnvs = 0
		c.Env = "Pendulum-v1"
		if given != "" {
			c.EnvParam = settings.Pairs{"max-steps": given}
		}
		play, err := c.Rollout()
		require.NoError(t, err, "%s", given)
		require.Equal(t, want, play.Steps, "%s", given)
	}
	// Normalized pictures with their channels first were taken for others.
	c := small(func(c *Config) {
		c.Env, c.Policy, c.NormalizeObservations = "Gather-v1", "cnn:4", true
	})
	g, err := c.program()
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 4, 4}, policy.Unwrap(g.standalone).Init(
		random.New(0)).(policy.CNNParams).Convs[0].W.Dims())
	// Matrices that keep memory are orthogonal of scale 1.
	c = small(func(c *Config) { c.Policy = "elman:6" })
	g, err = c.program()
	require.NoError(t, err)
	for _, a := range graph.Leaves(g.network.init(random.New(1)).Actor) {
		if d := a.Dims(); len(d) == 2 && d[0] == 6 && d[1] == 6 {
			v := graphtest.Floats(t, graph.Dot(a, graph.Transpose(a, 1, 0)))
			require.InDelta(t, 1, v[0], 1e-4)
			require.InDelta(t, 0, v[1], 1e-4)
		}
	}
	// Steps without a return that is a number had the advantage 0, which is better than others where those are
	// normalized: they were learned.
	_, metrics = evalUpdates(t, smallProgram(t, func(c *Config) {
		c.Env, c.Policy, c.Envs, c.Epochs, c.LearningRate, c.Anneal = "Lure-v0", "linear", 16, 2, settings.Num(.05),
			false
	}), 8)
	t.Log(metrics[0]["failed"], metrics[7]["failed"])
	require.Less(t, metrics[7]["failed"], .5*16*16, "a third, by chance")
	require.Positive(t, metrics[7]["failed"])
	// The last line of a run in which every episode failed did not say so.
	require.Contains(t, (&Training{config: small(nil), target: math.NaN()}).Ending(
		run.Metrics{Values: []run.Value{{Name: "recent_return", Number: -1}, {Name: "failed", Number: 7},
			{Name: "episodes", Number: 0}, {Name: "minibatches", Number: 1}}}),
		"the 7 episodes that ended in the last update have returns that are not finite")
	// Nothing said that the environment goes on where its limit of steps is.
	for _, c := range []struct {
		updates int64
		param   settings.Pairs
		want    string
	}{
		{31, nil, "no episode has ended"},
		{32, nil, "no episode has ended in the 512 steps of each environment, although CartPole-v1 has a limit of " +
			"500: its Step has to return truncated there"},
		{32, settings.Pairs{"max-steps": "513"}, "no episode has ended"},
	} {
		endless := &Training{config: small(func(ppo *Config) { ppo.EnvParam = c.param }), target: math.NaN()}
		require.Equal(t, c.want, endless.Ending(run.Metrics{Step: c.updates, Values: []run.Value{
			{Name: "recent_return", Number: math.NaN()}}}))
	}
	// One lucky episode ended a run: what is recent was one return.
	for k, weights := range [][]float64{{0, 30}, {9, 30}, {10, 30}, {30, 9.5}} {
		c := small(func(c *Config) { c.Agents = 2 })
		g, err := c.program()
		require.NoError(t, err)
		r := &Training{Loop: &run.Loop{}, config: c, program: g, target: -5}
		names := r.program.metricNames()
		numbers := make([]float64, 0, 2*(len(names)+1))
		for _, w := range weights {
			row := make([]float64, len(names)+1)
			row[len(names)] = w
			numbers = append(numbers, row...)
		}
		m, err := r.metrics(numbers)
		require.NoError(t, err)
		require.Equal(t, min(weights[0], weights[1]) >= minEpisodes, m.Done, "%d", k)
		_, err = r.metrics(numbers[1:])
		require.ErrorContains(t, err, "an update returned 37 numbers, want 19 metrics of 2 agents")
	}
	// Infinite rewards were learned where rewards are normalized.
	d := discountedSums{graph.Zeros(graph.ShapeOf(graph.Float32, 1)), policy.NoMoments()}
	column := func(values ...float32) *graph.Array { return graph.Float32s(values, len(values), 1) }
	never := graph.Zeros(graph.ShapeOf(graph.Bool, 5, 1))
	rewards, _ := d.scale(transition{Reward: column(1, float32(math.Inf(1)), 2, float32(math.Inf(-1)),
		float32(math.NaN())), Terminated: never, Truncated: never}, graph.Scalar(.9))
	v := graphtest.Floats(t, rewards)
	require.Greater(t, v[2], v[0])
	for _, k := range []int{1, 3, 4} {
		require.True(t, math.IsNaN(v[k]), "%v", v)
	}
	// An environment whose Spec names no objectives, or too few, had its objectives taken for returns of
	// further agents.
	for _, id := range []string{"Untold-v0", "Twice-v0"} {
		_, err := New(&xlabridge.Reference{}, small(func(c *Config) { c.Env = id }))
		require.ErrorContains(t, err, id+": Objectives: got f32[2], want f32[")
	}
	// Objectives with the names of other metrics, or of each other, were written twice under one name.
	require.Equal(t, []string{"objective_entropy", "a_b", "objective_a_b", "objective_env_steps",
		"objective_objective_entropy"},
		objectiveNames([]string{"entropy", "a b", "a_b", "env_steps", "objective entropy"}, []string{"entropy"}))
}

// untold gives two objectives, and names fewer.
type untold struct{ flawed }

func init() {
	envs.MustRegister[*graph.Array, graph.None](untold{})
	envs.MustRegister[*graph.Array, graph.None](twice{})
}

func (untold) Spec() envs.Spec {
	s := flawed{}.Spec()
	s.ID = "Untold-v0"
	return s
}
func (untold) Objectives(s *graph.Array, _ graph.None) *graph.Array {
	return graph.Stack([]*graph.Array{s, s}, 0)
}

type twice struct{ untold }

func (twice) Spec() envs.Spec {
	s := flawed{}.Spec()
	s.ID, s.Objectives = "Twice-v0", []string{"one"}
	return s
}
