package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// seen is an auxiliary loss that pulls the critic's first output towards a number, and refuses wrong shapes.
type seen struct {
	Towards settings.Number `set:"towards" help:"number"`
	Weight  settings.Number `set:"weight" min:"0" help:"weight"`
}

func (*seen) Traits() (t auxiliary.Traits) { return t }

func (s *seen) Compute(t auxiliary.Transition) *graph.Array {
	for _, scalar := range []*graph.Array{t.LogProb, t.Entropy, t.OldLogProb, t.OldValue, t.Advantage, t.Target,
		t.Action} {
		if scalar.Rank() != 0 {
			graph.Throw("seen", "got %s, want a scalar", scalar.Shape())
		}
	}
	if t.Observation.Dim(0) != 4 || t.Outputs.Dim(0) != 2 || t.Value.Dim(0) != 1 {
		graph.Throw("seen", "got observations %s, outputs %s, values %s", t.Observation.Shape(), t.Outputs.Shape(),
			t.Value.Shape())
	}
	return t.Value.Index(0).Sub(s.Towards.Array()).Square().Mul(s.Weight.Array())
}

func init() {
	auxiliary.MustRegister("test-seen", func() auxiliary.Loss { return &seen{Weight: settings.Num(1)} })
}

// An auxiliary loss is added to the loss and is a metric. With the weight 0 nothing else changes.
func TestAuxiliaryLoss(t *testing.T) {
	updates := func(name string, own settings.Values) (all []run.Metrics) {
		c := DefaultConfig()
		c.EvalEnvs = 0
		c.Policy, c.Horizon, c.Envs, c.Steps, c.Target = "mlp:3", 16, 2, 2048, "0"
		c.LearningRate, c.Auxiliary, c.Parted = settings.Num(.03), name, own
		x, err := New(&xlabridge.Reference{}, c)
		require.NoError(t, err)
		for range 4 {
			m, err := x.Step(t.Context())
			require.NoError(t, err)
			all = append(all, m)
		}
		require.NoError(t, x.Close())
		return all
	}
	plain := updates(auxiliary.None, nil)
	_, has := plain[0].Get(auxiliaryLoss)
	require.False(t, has)

	zero := updates("kl", settings.Values{"auxiliary.weight": 0.})
	for i, m := range plain {
		for _, v := range m.Values {
			got, ok := zero[i].Get(v.Name)
			require.True(t, ok, v.Name)
			require.InDelta(t, v.Number, got, 1e-5, "update %d, %s", i+1, v.Name)
		}
		x, _ := zero[i].Get(auxiliaryLoss)
		require.Zero(t, x)
	}
	// of the divergence with the weight 3: the metric is three times kl
	for _, m := range updates("kl", settings.Values{"auxiliary.weight": 3.}) {
		got, _ := m.Get(auxiliaryLoss)
		kl, _ := m.Get("kl")
		require.InDelta(t, 3*kl, got, 1e-6)
		require.Positive(t, got)
	}
	pulled := updates("test-seen", settings.Values{"auxiliary.towards": -2., "auxiliary.weight": 50.})
	first, _ := pulled[0].Get(auxiliaryLoss)
	last, _ := pulled[3].Get(auxiliaryLoss)
	require.Less(t, last, first/2, "the critic's output moved")
}

// Bad settings of an auxiliary loss are refused with their names.
func TestAuxiliaryRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		own  settings.Values
		want string
	}{
		{"kll", nil, `auxiliary: got "kll", want one of`},
		{"kl", settings.Values{"auxiliary.weight": -1.}, "auxiliary.weight: got -1"},
		{"none", settings.Values{"auxiliary.weight": 1.}, "auxiliary.weight"},
	} {
		config := DefaultConfig()
		config.EvalEnvs = 0
		config.Auxiliary, config.Parted = c.name, c.own
		_, err := config.program()
		require.ErrorContains(t, err, c.want)
	}
}

// terms is an auxiliary loss of the weight 0 that reports.
type terms struct {
	seen
	names []string
}

func (r *terms) Traits() auxiliary.Traits {
	return auxiliary.Traits{Reports: r.names, Report: func(t auxiliary.Transition) *graph.Array {
		return graph.Stack([]*graph.Array{t.Entropy, t.Entropy.Mul(0).Add(3)}, 0)
	}}
}

func init() {
	for name, reports := range map[string][]string{"test-terms": {"own_entropy", "three"}, "test-one": {"three"},
		"test-taken": {"kl", "three"}, "test-named": {"Own entropy", "three"}} {
		auxiliary.MustRegister(name, func() auxiliary.Loss { return &terms{names: reports} })
	}
}

// What an auxiliary loss reports of transitions becomes metrics: means over the minibatches.
func TestReportsOfALoss(t *testing.T) {
	of := func(name string) Config { return small(func(c *Config) { c.Auxiliary, c.Policy = name, "linear" }) }
	c := of("test-terms")
	require.Subset(t, c.Measures(), []string{"auxiliary_loss", "own_entropy", "three"})
	for _, m := range steps(t, start(t, &xlabridge.Reference{}, c), 2) {
		require.InDelta(t, m.Number("entropy"), m.Number("own_entropy"), 1e-6)
		require.InDelta(t, 3, m.Number("three"), 1e-6)
		require.Zero(t, m.Number(auxiliaryLoss))
	}
	_, err := New(&xlabridge.Reference{}, of("test-one"))
	require.ErrorContains(t, err, `Report of the auxiliary loss test-one returns f32[`)
	c = of("test-taken")
	require.ErrorContains(t, run.Kind{Unit: "update"}.Check(&c, c.Job(), plan.Machine{Devices: 1}),
		`two numbers with the name "kl"`)
	c = of("test-named")
	require.ErrorContains(t, run.Kind{Unit: "update"}.Check(&c, c.Job(), plan.Machine{Devices: 1}),
		`got the name "Own entropy" in Reports`)
}
