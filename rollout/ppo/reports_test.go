package ppo

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// counting is an environment that counts the actions 1, which its reward counts, too. It reports the count, whether it
// is above one, and its logarithm, which is not finite for none.
type counting struct{ reports []string }

func init() {
	envs.MustRegister(counting{[]string{"ones", "success", "log_ones"}})
	envs.MustRegister(counting{[]string{"ones", "kl"}})
}

type countingState struct{ Ones, Time *graph.Array }

func (e counting) Spec() envs.Spec {
	return envs.Spec{ID: "Counting-v" + strconv.Itoa(len(e.reports)), Observation: envs.Symmetric(1, 1),
		Action: envs.Discrete{N: 2}, MaxSteps: 3, Reports: e.reports}
}
func (counting) DefaultParams() graph.None { return graph.None{} }
func (e counting) Reset(key random.Key, p graph.None) (countingState, *graph.Array) {
	s := countingState{random.Bernoulli(key, .5).Convert(graph.Float32), envs.Steps(0)}
	return s, e.Observe(s, p)
}
func (counting) Observe(s countingState, _ graph.None) *graph.Array {
	return graph.Stack([]*graph.Array{s.Ones.Div(4), s.Time.Convert(graph.Float32).Div(3)}, 0)
}
func (e counting) Step(_ random.Key, s countingState, action *graph.Array,
	p graph.None) (next countingState, obs, reward, terminated, truncated *graph.Array) {
	reward = action.Convert(graph.Float32)
	next.Ones = s.Ones.Add(reward)
	next.Time, truncated = envs.Tick(s.Time, envs.Steps(3))
	return next, e.Observe(next, p), reward, envs.False(), truncated
}
func (e counting) Report(s countingState, _ graph.None) *graph.Array {
	all := []*graph.Array{s.Ones, s.Ones.Gt(1).Convert(graph.Float32), s.Ones.Log()}
	return graph.Stack(all[:len(e.reports)], 0)
}

// What an environment reports of an episode becomes a metric: the mean over the episodes that ended, without what is
// not finite. A report with the name of another metric is refused.
func TestReportsOfAnEnvironment(t *testing.T) {
	of := func(env string) Config { return small(func(c *Config) { c.Env = env }) }
	c := of("Counting-v3")
	require.Subset(t, c.Measures(), []string{"ones", "success", "log_ones"})
	require.NoError(t, run.Kind{Unit: "update"}.Check(&c, c.Job(), plan.Machine{Devices: 1}))
	training := start(t, &xlabridge.Reference{}, c)
	for _, m := range steps(t, training, 2) {
		drawn := m.Number("ones") - m.Number("mean_return") // ones that Reset drew
		require.Greater(t, drawn, .1)
		require.Less(t, drawn, .9)
		require.InDelta(t, m.Number("success")*m.Number("episodes"), math.Round(m.Number("success")*m.Number(
			"episodes")), 1e-4)
		require.False(t, math.IsNaN(m.Number("log_ones")) || math.IsInf(m.Number("log_ones"), 0))
	}
	c = of("Counting-v2")
	require.EqualError(t, run.Kind{Unit: "update"}.Check(&c, c.Job(), plan.Machine{Devices: 1}),
		`a run has two numbers with the name `+
			`"kl": give the one that your environment, policy, strategy or loss reports another name`)
}
