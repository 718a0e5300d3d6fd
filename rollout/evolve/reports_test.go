package evolve

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
	envs.MustRegister(counting{[]string{"ones", "worst_fitness"}})
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

// What an environment reports of an episode becomes a metric: the mean over the members of the means over their
// episodes, without members of which one is not finite. A report with the name of another metric is refused.
func TestReportsOfAnEnvironment(t *testing.T) {
	t.Parallel()
	config := func(env string) *Config {
		c := DefaultConfig()
		c.Env, c.Policy, c.Population, c.Steps, c.Episodes, c.Target = env, "linear", 12, 3, 2, "0"
		return &c
	}
	c := config("Counting-v3")
	require.Subset(t, c.Measures(), []string{"ones", "success", "log_ones"})
	require.NoError(t, run.Kind{Unit: "generation"}.Check(c, c.Job(), plan.Machine{Devices: 1}))
	e, err := New(t.Context(), &xlabridge.Reference{}, *c)
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
	sums, err := graph.Floats(summary.Reports)
	require.NoError(t, err)
	total, err := graph.Floats(summary.Return)
	require.NoError(t, err)
	require.Contains(t, []float64{0, .5, 1}, sums[0]-total[0], "the mean over two episodes")

	c = config("Counting-v2")
	err = run.Kind{Unit: "generation"}.Check(c, c.Job(), plan.Machine{Devices: 1})
	require.EqualError(t, err, `a run has two numbers with the name `+
		`"worst_fitness": give the one that your environment, policy, strategy or loss reports another name`)
}
