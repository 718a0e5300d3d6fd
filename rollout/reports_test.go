package rollout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/evolve"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/islands"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo"
	"xlarun/rollout/qd"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
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
	strategy.MustRegister("spread", &spread{strategy.SNES{LearningRate: settings.Num(1), Sigma: settings.Num(1)}})
	policy.MustRegister("clock", &clock{})
}

// spread is SNES, which reports its largest standard deviation, and NaN.
type spread struct{ strategy.SNES }

func (e *spread) Traits() strategy.Traits[strategy.SNESState, *graph.Array, *graph.Array] {
	t := e.SNES.Traits()
	t.Reports, t.Report = []string{"largest_std", "nothing"}, func(s strategy.SNESState) *graph.Array {
		return graph.Stack([]*graph.Array{s.Std.ReduceMax(0), graph.Scalar(math.NaN())}, 0)
	}
	return t
}

// clock is a linear layer, which counts its steps and reports them.
type clock struct{ inputs, outputs int }

func (*clock) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	inputs, err := policy.FlatSize(observation)
	return policy.Erase(&clock{inputs, outputs}), err
}
func (*clock) Traits() (t policy.Traits[nn.Dense, *graph.Array]) {
	t.Reports, t.Report = []string{"steps_counted"}, func(steps *graph.Array) *graph.Array { return steps.Reshape(1) }
	return t
}
func (c *clock) Init(key random.Key) nn.Dense { return nn.NewDense(key, c.inputs, c.outputs) }
func (*clock) Start(nn.Dense) *graph.Array    { return graph.Scalar(0) }
func (*clock) Act(p nn.Dense, steps, observation *graph.Array, _ random.Key) (*graph.Array, policy.Output) {
	return steps.Add(1), policy.Output{Action: p.Apply(observation)}
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

// In ppo a policy reports, too; in half precision as well.
func TestReportsOfPoliciesInPPO(t *testing.T) {
	for _, precision := range []string{"f32", "bf16"} {
		c := ppoConfig("Counting-v3")
		c.Policy, c.Precision = "clock", precision
		require.Subset(t, c.Measures(), []string{"ones", "steps_counted"})
		training, err := ppo.New(&xlabridge.Reference{}, *c)
		require.NoError(t, err)
		m, err := training.Step(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3., m.Number("steps_counted"), "steps of each episode in %s", precision)
		require.NoError(t, training.Close())
	}
}

// In qd what environment and policy report are means over the members of a generation. What a strategy reports is the
// mean over the emitter's searches, on islands that over the islands.
func TestReportsInQDAndIslands(t *testing.T) {
	c := qd.DefaultConfig()
	c.Env, c.Policy, c.Steps, c.Episodes, c.Batch, c.Archive, c.EvalEnvs = "Counting-v3", "clock", 3, 2, 12, "grid:3", 4
	c.Descriptor, c.Emitter, c.Strategy = "observations", "searches", "spread"
	c.Parted = c.Parted.With("emitter.searches", 2)
	i := islands.DefaultIslands()
	i.Env, i.Policy, i.Steps, i.Population, i.Islands, i.Strategy = "Counting-v3", "clock", 3, 8, 2, "spread"
	i.Migrants, i.EvalEnvs, i.Target = 1, 4, "0"
	names := []string{"ones", "success", "log_ones", "steps_counted", "largest_std", "nothing"}
	for _, e := range []run.Experiment{&c, &i} {
		job := e.Job()
		require.Subset(t, job.Measures(), names)
		require.NoError(t, run.Kind{Unit: "generation"}.Check(e, job, plan.Machine{Devices: 1}))
		r, err := job.Start(t.Context(), &xlabridge.Reference{})
		require.NoError(t, err)
		for range 2 {
			m, err := r.Step(t.Context())
			require.NoError(t, err)
			starts := m.Number("ones") - m.Number("mean_fitness") // ones that Reset drew
			require.Greater(t, starts, .1)
			require.Less(t, starts, .9)
			require.Greater(t, m.Number("success"), 0.)
			require.LessOrEqual(t, m.Number("success"), 1.)
			require.False(t, math.IsNaN(m.Number("log_ones")) || math.IsInf(m.Number("log_ones"), 0))
			require.Equal(t, 3., m.Number("steps_counted"))
			require.InDelta(t, 1, m.Number("largest_std"), .5)
			require.True(t, math.IsNaN(m.Number("nothing")))
			for _, v := range m.Values {
				require.Contains(t, job.Measures(), v.Name)
			}
		}
		require.NoError(t, r.Close())
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
