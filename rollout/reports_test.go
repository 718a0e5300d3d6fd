package rollout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
	"xlarun/rollout/ppo"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// counting is an environment that counts the actions 1, which its reward counts, too. It reports the count, whether it
// is above one, and its logarithm, which is not finite for none.
type counting struct {
	id      string
	reports []string
}

func init() {
	for _, e := range []counting{{"Counting-v3", []string{"ones", "success", "log_ones"}},
		{"CountingFitness-v2", []string{"ones", "worst_fitness"}}, {"CountingKL-v2", []string{"ones", "kl"}}} {
		envs.MustRegister(e)
	}
}

type countingState struct{ Ones, Time *graph.Array }

func (e counting) Spec() envs.Spec {
	return envs.Spec{ID: e.id, Observation: envs.Symmetric(1, 1), Action: envs.Discrete{N: 2}, MaxSteps: 3,
		Reports: e.reports}
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

// evolveConfig and ppoConfig return small runs of evolve and ppo in an environment.
func evolveConfig(env string) *evolve.Config {
	c := evolve.DefaultConfig()
	c.Env, c.Policy, c.Population, c.Steps, c.Episodes, c.Target = env, "linear", 12, 3, 2, "0"
	return &c
}

func ppoConfig(env string) *ppo.Config {
	c := ppo.DefaultConfig()
	c.Env, c.Policy, c.Envs, c.Horizon, c.Steps, c.Target, c.EvalEnvs = env, "mlp:8", 4, 16, 64*20, "0", 0
	return &c
}

// What an environment reports of an episode becomes a metric of evolve: the mean over the members of the means over
// their episodes, without members of which one is not finite.
func TestReportsInEvolve(t *testing.T) {
	t.Parallel()
	c := evolveConfig("Counting-v3")
	require.Subset(t, c.Measures(), []string{"ones", "success", "log_ones"})
	require.NoError(t, run.Kind{Unit: "generation"}.Check(c, c.Job(), plan.Machine{Devices: 1}))
	e, err := evolve.New(t.Context(), &xlabridge.Reference{}, *c)
	require.NoError(t, err)
	m, err := e.Step(t.Context())
	require.NoError(t, err)
	starts := m.Number("ones") - m.Number("mean_fitness") // ones that Reset drew
	require.Greater(t, starts, .2)
	require.Less(t, starts, .8)
	require.Greater(t, m.Number("success"), 0.)
	require.LessOrEqual(t, m.Number("success"), 1.)
	require.False(t, math.IsNaN(m.Number("log_ones")) || math.IsInf(m.Number("log_ones"), 0))

	r, err := c.Rollout()
	require.NoError(t, err)
	ones, err := graph.Eval(graph.Ones(graph.ShapeOf(graph.Float32)))
	require.NoError(t, err)
	require.Equal(t, []string{"ones", "success", "log_ones"}, r.Reports())
	report, err := graph.Floats(envs.ReportOf(r.Env, countingState{ones.Mul(2), envs.Steps(3)}, graph.None{}))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{2, 1, math.Log(2)}, report, 1e-6)
	summary := r.Member(r.Policy.Init(random.New(1)), random.New(2))
	reported, err := graph.Floats(summary.Reports)
	require.NoError(t, err)
	total, err := graph.Floats(summary.Return)
	require.NoError(t, err)
	require.Contains(t, []float64{0, .5, 1}, reported[0]-total[0], "the mean over two episodes")
}

// In ppo it is the mean over the episodes that ended, without what is not finite.
func TestReportsInPPO(t *testing.T) {
	c := ppoConfig("Counting-v3")
	require.Subset(t, c.Measures(), []string{"ones", "success", "log_ones"})
	require.NoError(t, run.Kind{Unit: "update"}.Check(c, c.Job(), plan.Machine{Devices: 1}))
	training, err := ppo.New(&xlabridge.Reference{}, *c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, training.Close()) })
	for range 2 {
		m, err := training.Step(t.Context())
		require.NoError(t, err)
		drawn := m.Number("ones") - m.Number("mean_return") // ones that Reset drew
		require.Greater(t, drawn, .1)
		require.Less(t, drawn, .9)
		successes := m.Number("success") * m.Number("episodes")
		require.InDelta(t, successes, math.Round(successes), 1e-4)
		require.False(t, math.IsNaN(m.Number("log_ones")) || math.IsInf(m.Number("log_ones"), 0))
	}
}

// A report with the name of another metric is refused.
func TestReportsWithTheNameOfAMetric(t *testing.T) {
	fitness, kl := evolveConfig("CountingFitness-v2"), ppoConfig("CountingKL-v2")
	for _, c := range []struct {
		unit, name string
		experiment run.Experiment
		job        *run.Job
	}{{"generation", "worst_fitness", fitness, fitness.Job()}, {"update", "kl", kl, kl.Job()}} {
		require.EqualError(t, run.Kind{Unit: c.unit}.Check(c.experiment, c.job, plan.Machine{Devices: 1}),
			`a run has two numbers with the name "`+c.name+
				`": give the one that your environment, policy, strategy or loss reports another name`)
	}
}
