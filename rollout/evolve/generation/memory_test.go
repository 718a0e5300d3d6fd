package generation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
)

// ellipse is a strategy whose state has a covariance of all parameters. It draws in a dtype.
type ellipse struct {
	draws graph.DType
}

type ellipseState struct{ Mean, Covariance *graph.Array }

func (*ellipse) Traits() (t strategy.Traits[ellipseState, *graph.Array, *graph.Array]) { return t }
func (*ellipse) Init(mean *graph.Array, _ int) ellipseState {
	return ellipseState{mean, graph.Zeros(graph.ShapeOf(graph.Float32, mean.Dim(0), mean.Dim(0)))}
}
func (e *ellipse) Sample(key random.Key, state ellipseState, _ *graph.Array) *graph.Array {
	return random.Normal(key, state.Mean.Shape()).Convert(e.draws)
}
func (*ellipse) Member(state ellipseState, draw, _ *graph.Array) *graph.Array {
	return state.Mean.Add(draw.Convert(graph.Float32))
}
func (*ellipse) Tell(s ellipseState, e strategy.Evaluation, draws strategy.Draws[*graph.Array]) ellipseState {
	return ellipseState{s.Mean, s.Covariance.Add(draws.Outer(e.Fitness, func(draw *graph.Array) *graph.Array {
		return draw.Convert(graph.Float32)
	}))}
}
func (*ellipse) Mean(state ellipseState) *graph.Array { return state.Mean }

// greedy is a strategy without a state that calls All.
type greedy struct{}

func (*greedy) Traits() (t strategy.Traits[*graph.Array, *graph.Array, *graph.Array]) { return t }
func (*greedy) Init(genome *graph.Array, _ int) *graph.Array                          { return genome }
func (*greedy) Sample(key random.Key, s, _ *graph.Array) *graph.Array {
	return random.Normal(key, s.Shape())
}
func (*greedy) Mean(state *graph.Array) *graph.Array     { return state }
func (*greedy) Member(_, d, _ *graph.Array) *graph.Array { return d }
func (*greedy) Tell(_ *graph.Array, e strategy.Evaluation, draws strategy.Draws[*graph.Array]) *graph.Array {
	return graph.DynamicIndex(draws.All(), e.Fitness.ArgMax(0), 0)
}

func named(name string) func() *strategy.Erased {
	return func() *strategy.Erased {
		s, err := strategy.Make(name, nil)
		if err != nil {
			panic(err)
		}
		return s
	}
}

var cmaes, sepcmaes, pso = named("cmaes"), named("sepcmaes"), named("pso")

// vast is an environment that never ends. Its state has n numbers.
type vast int

func (v vast) Spec() envs.Spec {
	return envs.Spec{ID: "Vast-v0", Observation: envs.Symmetric(1, 1, 1, 1), Action: envs.Discrete{N: 2}, MaxSteps: 10}
}
func (vast) DefaultParams() graph.None { return graph.None{} }
func (v vast) Reset(key random.Key, _ graph.None) (state, obs *graph.Array) {
	return random.Uniform(key, graph.ShapeOf(graph.Float32, int(v)), 0, 1), v.Observe(nil, graph.None{})
}
func (vast) Observe(*graph.Array, graph.None) *graph.Array {
	return graph.Zeros(graph.ShapeOf(graph.Float32, 4))
}
func (v vast) Step(_ random.Key, s, _ *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	return s.Add(1), v.Observe(s, p), graph.Scalar(1), s.Sum().Gt(1e9), envs.False()
}

// The estimate covers the state of strategies and environments.
func TestMemoryIsOfWhatIsHeld(t *testing.T) {
	const params = 17410 // of mlp:128,128 in CartPole
	covariance := int64(4 * params * params)
	for _, c := range []struct {
		number int
		what   string
		policy string
		change func(x *Setup)
		free   int64

		least, most int64 // of the estimate
		want        string
	}{
		{1, "a covariance of all parameters", "mlp:128,128", func(x *Setup) {
			x.Strategy = strategy.Erase(&ellipse{draws: graph.Float32})
		}, 1 << 30,
			30 * covariance, 45 * covariance, `256 members of 17410 parameters take about`},
		{2, "the same where there is room", "mlp:128,128", func(x *Setup) {
			x.Strategy = strategy.Erase(&ellipse{draws: graph.Float32})
		}, 64 << 30,
			30 * covariance, 45 * covariance, ""},
		{3, "4 MB of state in each of a tile's episodes", "linear", func(x *Setup) {
			x.Rollout.Env = envs.Erase(vast(1 << 20))
		}, 8 << 20,
			16 * 4 << 20, 1 << 30, "256 members of 10 parameters take about"},
		{4, "a covariance of more numbers than can be counted", "mlp:65536,65536", func(x *Setup) {
			x.Strategy = strategy.Erase(&ellipse{draws: graph.Float32})
		}, 1 << 50,
			-1, -1, "take more than 4 EiB"},
		{8, "cmaes, whose matrix fits by far not", "mlp:128,128", func(x *Setup) { x.Strategy = cmaes() }, 1 << 30,
			30 * covariance, 60 * covariance, `256 members of 17410 parameters take about`},
		{9, "sepcmaes where cmaes does not fit", "mlp:128,128", func(x *Setup) {
			x.Strategy = sepcmaes()
		}, 1 << 30, 256 * 4 * params, 3 * 256 * 4 * params, ""},
		{10, "three places of each particle", "mlp:128,128", func(x *Setup) {
			x.Strategy = pso()
		}, 1 << 30, 12 * 256 * 4 * params, 20 * 256 * 4 * params, ""},
		{5, "all draws at once", "mlp:128,128", func(x *Setup) {
			x.Strategy = strategy.Erase(&greedy{})
		}, 1 << 30, 3 * 256 * 4 * params, 5 * 256 * 4 * params, ""},
		{6, "openes as it was", "mlp:128,128", func(*Setup) {}, 1 << 30, 128 * 4 * params, 256 * 4 * params, ""},
	} {
		config := DefaultSearch()
		config.Policy, config.EvalEnvs = c.policy, 0
		x, err := config.NewSetup(Options{}, plan.Machine{Devices: 1})
		require.NoError(t, err, "case %d: %s", c.number, c.what)
		c.change(x)
		x.Count()
		x.Lay(x.rule())
		x.Machine.Free = c.free
		need, ok := x.Memory()
		if c.least < 0 {
			require.False(t, ok, "case %d: %s", c.number, c.what)
		} else {
			require.True(t, ok)
			require.Greater(t, need, c.least, "case %d: %s", c.number, c.what)
			require.Less(t, need, c.most, "case %d: %s", c.number, c.what)
		}
		if c.want == "" {
			require.NoError(t, x.Fit(), "case %d: %s", c.number, c.what)
			continue
		}
		require.ErrorContains(t, x.Fit(), c.want, "case %d: %s", c.number, c.what)
	}

	// Episodes of a member that run side by side have a state each, before and after a step.
	const stepBytes = 4 << 20
	var carried [2]int64
	for i, batch := range []int{1, 4} {
		config := DefaultSearch()
		config.Policy, config.Episodes = "linear", 4
		x, err := config.NewSetup(Options{}, plan.Machine{Devices: 1})
		require.NoError(t, err)
		x.Rollout.Env = envs.Erase(vast(stepBytes / 4))
		x.Count()
		layout := x.rule()
		layout.Tile, layout.EpisodeBatch = 8, batch
		x.Lay(layout)
		carried[i], _ = x.Memory()
	}
	require.InEpsilon(t, 2*8*(4-1)*stepBytes, carried[1]-carried[0], .01)

	// Draws of two bytes take half the room.
	config := DefaultSearch()
	config.Policy = "mlp:16"
	var need [2]int64
	for i, d := range []graph.DType{graph.Float32, graph.BFloat16} {
		x, err := config.NewSetup(Options{}, plan.Machine{Devices: 1})
		require.NoError(t, err)
		x.Strategy = strategy.Erase(&ellipse{draws: d})
		x.Count()
		x.Lay(x.Layout)
		rows := x.Groups.Rows(graph.Float32, x.Groups.Lanes, x.Params)
		need[i], _ = x.Memory()
		require.EqualValues(t, rows.Size()*2*i, need[0]-need[i])
	}
}
