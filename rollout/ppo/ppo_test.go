package ppo

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

func open(t *testing.T) *xlabridge.Client {
	t.Helper()
	c, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: 1, CacheDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func start(t *testing.T, b xlabridge.Backend, c Config) *Training {
	t.Helper()
	r, err := New(b, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func steps(t *testing.T, r run.Run, n int) (all []run.Metrics) {
	t.Helper()
	for range n {
		m, err := r.Step()
		require.NoError(t, err)
		all = append(all, m)
	}
	return all
}

func of(t *testing.T, m run.Metrics, name string) float64 {
	t.Helper()
	x, ok := m.Get(name)
	require.True(t, ok, name)
	return x
}

// small is a config that compiles and runs in little time.
func small(change func(c *Config)) Config {
	c := DefaultConfig()
	c.Policy, c.Envs, c.Horizon, c.Steps, c.Target = "mlp:8", 4, 16, 64*20, "0"
	if change != nil {
		change(&c)
	}
	return c
}

// Five agents with the defaults learn to balance the pole for 100 steps within 41,000 steps each; gymnax_ppo.py's mean return over the first tenth of its 500,000 steps
// is 107.
func TestLearnsCartPole(t *testing.T) {
	c := DefaultConfig()
	c.Agents = 5
	r := start(t, open(t), c)
	all := steps(t, r, 80)
	require.Less(t, of(t, all[2], "recent_return"), 40.)
	last := all[len(all)-1]
	require.Greater(t, of(t, last, "recent_return"), 110.)
	require.EqualValues(t, 80*512*5, of(t, last, "env_steps"))
	require.EqualValues(t, 512*5, last.Work)
	require.EqualValues(t, 16, of(t, last, "minibatches"))
	require.InDelta(t, 2.5e-4*(1-79./976), of(t, last, "learning_rate"), 1e-8)
	require.False(t, last.Done)
	each := recentOf(t, r)
	require.Len(t, each, 5)
	require.Greater(t, slices.Min(each), 50.)
	files, err := r.Files(true)
	require.NoError(t, err)
	require.Equal(t, "agents.json", files[0].Name)
	shown := files[0].JSON.(map[string]any)
	for i, x := range shown["recent_return"].([]*float64) {
		require.InEpsilon(t, each[i], *x, 1e-6)
	}
	slices.Sort(each)
	require.InEpsilon(t, (each[1]+each[2]+each[3])/3, shown["interquartile_mean"].(float64), 1e-6)
	require.Contains(t, r.Ending(last), "; interquartile mean of 5 agents ")
}

func hostBytes(t *testing.T, a *graph.Array) []byte {
	t.Helper()
	data, err := a.Data()
	require.NoError(t, err)
	b, err := data.HostBytes()
	require.NoError(t, err)
	return b
}

func recentOf(t *testing.T, r *Training) []float64 {
	t.Helper()
	s, err := r.Snapshot()
	require.NoError(t, err)
	v, err := r.Unflatten(s)
	require.NoError(t, err)
	x, err := graph.Floats(v.(State).Recent.mean())
	require.NoError(t, err)
	return x
}

// A run goes on from a snapshot to the byte, also in another process's place, with everything that a state can have.
func TestResumesToTheByte(t *testing.T) {
	b := open(t)
	for name, change := range map[string]func(c *Config){
		"plain": nil,
		"all": func(c *Config) {
			c.NormalizeObservations, c.NormalizeRewards, c.Value, c.Agents = true, true, "popart", 2
		},
		"memory": func(c *Config) {
			c.Policy, c.TargetKL, c.EnvParam = "gru:4", settings.Num(1e-5), settings.Pairs{"gravity": "9..11"}
		},
		"shared": func(c *Config) { c.Shared, c.Value, c.Policy = true, "popart", "lstm:4" },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, b, small(change))
			steps(t, r, 2)
			middle, err := r.Snapshot()
			require.NoError(t, err)
			want := steps(t, r, 2)
			last, err := r.Snapshot()
			require.NoError(t, err)

			other := start(t, b, small(change))
			require.NoError(t, other.Restore(middle))
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(steps(t, other, 2)))
			now, err := other.Snapshot()
			require.NoError(t, err)
			require.Equal(t, last.Step, now.Step)
			require.Len(t, now.Arrays, len(last.Arrays))
			for name, a := range last.Arrays {
				require.True(t, bytes.Equal(hostBytes(t, a), hostBytes(t, now.Arrays[name])), name)
			}
			candidates, err := other.Candidates(now)
			require.NoError(t, err)
			require.Equal(t, "last", candidates[0].Name)
			play, err := other.config.Rollout()
			require.NoError(t, err)
			for _, c := range candidates { // what play, export and episode.Load want
				_, got := graph.Flatten(c.Params)
				_, want := graph.Flatten(play.Policy.Init(random.New(0)))
				require.Equal(t, want.Key(), got.Key())
				for i, a := range graph.Leaves(c.Params) {
					require.True(t, a.Shape().Equal(graph.Leaves(play.Policy.Init(random.New(0)))[i].Shape()), c.Name)
				}
			}
		})
	}
}

// With one epoch of one minibatch the policy that learns is the one that collected: ratios are 1, whatever was remembered and reset on the way.
func TestWhatIsLearnedIsWhatWasPlayed(t *testing.T) {
	b := open(t)
	for i, c := range []struct {
		env, policy string
		shared      bool
	}{{"CartPole-v1", "gru:4", false}, {"CartPole-v1", "lstm:5", true}, {"Pendulum-v1", "mlp:8", false}} {
		r := start(t, b, small(func(x *Config) {
			x.Env, x.Policy, x.Shared, x.Epochs, x.Minibatches, x.Horizon = c.env, c.policy, c.shared, 1, 1, 40
			x.NormalizeObservations = i != 1
		}))
		for _, m := range steps(t, r, 3) {
			require.InDelta(t, 0, of(t, m, "kl"), 1e-6, "%v", c)
			require.EqualValues(t, 0, of(t, m, "clip_fraction"), "%v", c)
			require.InDelta(t, 0, of(t, m, "policy_loss"), 1e-5, "%v: advantages have the mean 0", c)
			require.Greater(t, of(t, m, "gradient_norm"), 0.)
		}
	}
}

// The loss, its parts, its gradient and two steps of the optimiser are JAX's on the same experience.
func TestAgainstJAX(t *testing.T) {
	type vector struct {
		Actor, Critic, Gradients, After                              []oracles.Array
		Observation, Action, Legal, Value, Advantage, Target, Losses oracles.Array
		LogProb                                                      oracles.Array `json:"log_prob"`
		Clip, Norm, Rate                                             float64
		ValueWeight, EntropyWeight, MaxNorm                          float64
		ClipValues                                                   bool
		V                                                            float64 `json:"value_weight"`
		E                                                            float64 `json:"entropy_weight"`
		M                                                            float64 `json:"max_norm"`
		C                                                            bool    `json:"clip_values"`
	}
	var file struct{ Cases []vector }
	require.NoError(t, oracles.Read("testdata/jax_ppo.json.gz", &file))
	require.Len(t, file.Cases, 3)
	dtypes := map[string]graph.DType{"float32": graph.Float32, "int32": graph.Int32, "bool": graph.Bool}
	array := func(a oracles.Array) *graph.Array {
		return graph.FromBytes(graph.ShapeOf(dtypes[a.DType], a.Shape...), a.Data)
	}
	layers := func(all []oracles.Array) (p policy.Params) {
		for i := 0; i < len(all); i += 2 {
			p.Layers = append(p.Layers, nn.Dense{W: array(all[i]), B: array(all[i+1])})
		}
		return p
	}
	box := envs.Symmetric(9, 9, 9)
	for i, v := range file.Cases {
		net, err := newNetwork(func(outputs int) (policy.Policy, error) {
			return policy.NewMLP([]int{5}, "tanh", box, outputs)
		}, policy.Categorical{N: 4}, 4, 1, false, true)
		require.NoError(t, err)
		config := DefaultConfig()
		config.Clip, config.ValueWeight, config.Entropy, config.MaxGradNorm, config.LearningRate = settings.Num(v.Clip), settings.Num(v.V), settings.Num(v.E), settings.Num(v.M), settings.Num(v.Rate)
		config.ClipValues, config.Anneal = v.C, false
		g, err := config.program()
		require.NoError(t, err)
		g.collect.network = net
		l := g.learner(g.head.Start(), inputs{}, graph.Of(int32(0)))
		p := Params{layers(v.Actor), layers(v.Critic), graph.None{}}
		n := v.Action.Shape[0]
		e := experience{Observation: array(v.Observation), Legal: array(v.Legal), Draw: array(v.Action), Key: random.Split(random.New(0), n), First: graph.Zeros(graph.ShapeOf(graph.Bool, n)),
			LogProb: array(v.LogProb), Value: array(v.Value), Advantage: array(v.Advantage), Target: array(v.Target)}
		loss := func(p Params) (*graph.Array, figures) { return l.loss(p, l.across(p, e), e, l.spreadOf(e.Advantage)) }
		total, f := loss(p)
		want, err := graph.Floats(array(v.Losses))
		require.NoError(t, err)
		for k, a := range []*graph.Array{total, f.PolicyLoss, f.ValueLoss, f.Entropy, f.KL, f.ClipFraction} {
			got, err := graph.Float(a)
			require.NoError(t, err)
			require.InEpsilon(t, 1+want[k], 1+got, 2e-6, "case %d, part %d", i, k)
		}
		_, _, gradient := graph.ValueAndGradAux(func(p Params, _ graph.None) (*graph.Array, figures) { return loss(p) })(p, graph.None{})
		same := func(what string, got []*graph.Array, want []oracles.Array, tolerance float64) {
			require.Len(t, got, len(want))
			for k := range want {
				x, err := graph.Floats(got[k])
				require.NoError(t, err)
				y, err := graph.Floats(array(want[k]))
				require.NoError(t, err)
				require.InDeltaSlice(t, y, x, tolerance, "case %d, %s of leaf %d", i, what, k)
			}
		}
		same("gradient", graph.Leaves(gradient), v.Gradients, 1e-5)
		norm, err := graph.Float(optim.GlobalNorm(gradient))
		require.NoError(t, err)
		require.InEpsilon(t, v.Norm, norm, 1e-5)

		// Two epochs of one minibatch: the order of the rows changes nothing.
		after := l.epochs(random.New(0), trained{Params: p, Optimizer: l.optimizer().Init(p)}, 2, 1, 1, experiences{n,
			func(*graph.Array) *graph.Array { return e.Advantage }, func(*graph.Array, *spread) func(p Params) (*graph.Array, figures) { return loss }})
		same("step", graph.Leaves(after.Params), v.After, 3e-6)
		count, err := graph.Float(after.Figures.Minibatches)
		require.NoError(t, err)
		require.EqualValues(t, 2, count)
	}
}

// shelf is an environment of one step: of four actions the one behind the state's number is right, the one before it illegal.
type shelf struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](shelf{}) }

func (shelf) Spec() envs.Spec {
	return envs.Spec{ID: "Shelf-v0", Observation: envs.Discrete{N: 4}, Action: envs.Discrete{N: 4}, MaxSteps: 1, RewardThreshold: math.NaN(), LegalMask: true}
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
func (e shelf) Step(_ random.Key, s, action *graph.Array, p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	right := graph.Eq(action, graph.Rem(graph.Add(s, 1), 4))
	illegal := graph.Eq(action, graph.Rem(graph.Add(s, 3), 4))
	reward = graph.Select(illegal, -1000., graph.Convert(right, graph.Float32))
	return s, e.Observe(s, p), reward, graph.Ones(graph.ShapeOf(graph.Bool)), graph.Zeros(graph.ShapeOf(graph.Bool))
}

// Illegal actions are never played, and among the legal ones the right one is learned.
func TestLearnsUnderMasks(t *testing.T) {
	r := start(t, open(t), small(func(c *Config) {
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

// A policy with memory learns what one without cannot: the sign that was shown first decides which last action is right.
func TestLearnsToRemember(t *testing.T) {
	b := open(t)
	learned := func(policy string) float64 {
		r := start(t, b, small(func(c *Config) {
			c.Env, c.Policy, c.Envs, c.Horizon, c.LearningRate, c.Steps = "MemoryChain-bsuite-v1", policy, 32, 24, settings.Num(.01), 32*24*40
		}))
		all := steps(t, r, 40)
		return of(t, all[39], "mean_return")
	}
	require.Greater(t, learned("gru:8"), .9)
	require.Less(t, learned("mlp:8"), .5)
}

// Settings that are numbers are inputs: other ones are the same program. A divergence that ends updates is another one.
func TestNumbersDoNotCompile(t *testing.T) {
	b := open(t)
	text := func(change func(c *Config)) string {
		l, err := start(t, b, small(change)).Compiled().Program.Lower(graph.TargetCPU)
		require.NoError(t, err)
		return l.StableHLO
	}
	want := text(nil)
	require.Equal(t, want, text(func(c *Config) {
		c.LearningRate, c.Gamma, c.Lambda, c.Clip, c.Entropy = settings.Num(.1), settings.Num(.5), settings.Num(.3), settings.Num(.4), settings.Num(.2)
		c.ValueWeight, c.MaxGradNorm, c.Steps, c.Seed = settings.Num(3), settings.Num(9), 640, 7
	}))
	stops := func(kl float64) func(c *Config) { return func(c *Config) { c.TargetKL = settings.Num(kl) } }
	require.Equal(t, text(stops(.1)), text(stops(.2)))
	require.NotEqual(t, want, text(stops(.1)))
	plain, some, other := small(nil), small(stops(.1)), small(stops(.2))
	require.Equal(t, some.Programs(), other.Programs())
	require.NotEqual(t, plain.Programs(), some.Programs())
	require.NotEqual(t, plain.Purpose(), some.Purpose())
}

// The value head is chosen when the program is traced: none has a branch more than another.
func TestHeadsHaveNoBranches(t *testing.T) {
	b := open(t)
	branches := func(head string) int {
		return countOps(start(t, b, small(func(c *Config) { c.Value = head })).Compiled().Program.Graph, "switch", "while")
	}
	plain := branches("plain")
	require.Equal(t, plain, branches("popart"))
	require.Equal(t, plain, branches("twohot"))
}

func countOps(g *graph.Graph, names ...string) (n int) {
	for _, node := range g.Nodes {
		if slices.Contains(names, node.Op.Name) {
			n++
		}
		for _, body := range node.Bodies {
			n += countOps(body, names...)
		}
	}
	return n
}

// A divergence that is reached ends the update after the epoch that reached it.
func TestStopsByDivergence(t *testing.T) {
	b := open(t)
	m := steps(t, start(t, b, small(func(c *Config) { c.TargetKL, c.LearningRate = settings.Num(1e-7), settings.Num(.01) })), 1)[0]
	require.EqualValues(t, 4, of(t, m, "minibatches"), "one epoch of four")
	m = steps(t, start(t, b, small(func(c *Config) { c.TargetKL, c.LearningRate = settings.Num(1e3), settings.Num(.01) })), 1)[0]
	require.EqualValues(t, 16, of(t, m, "minibatches"))
}

// Bad input is refused in a sentence before anything is compiled.
func TestRefuses(t *testing.T) {
	for i, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Minibatches = 3 }, "minibatches: got 3, want a number that divides 64, the steps of an update"},
		{func(c *Config) { c.Policy, c.Minibatches = "gru:4", 8 }, "minibatches: got 8, want a number that divides 4, the environments, whose sequences stay whole"},
		{func(c *Config) { c.Envs = 0 }, "envs: got 0"},
		{func(c *Config) { c.Horizon = 0 }, "horizon: got 0"},
		{func(c *Config) { c.Agents = 0 }, "agents: got 0"},
		{func(c *Config) { c.Steps = 10 }, "steps: got 10, want at least 64"},
		{func(c *Config) { c.Value = "best" }, `value: got "best", want one of`},
		{func(c *Config) { c.Policy = "mlq:4" }, `policy: got "mlq:4"`},
		{func(c *Config) { c.Env = "CartPole" }, `env: got "CartPole"`},
		{func(c *Config) { c.LearningRate = settings.Num(0) }, "learning-rate: got 0"},
		{func(c *Config) { c.LearningRate = settings.Num(math.NaN()) }, "learning-rate: got NaN"},
		{func(c *Config) { c.Gamma = settings.Num(1.5) }, "gamma: got 1.5"},
		{func(c *Config) { c.Init = "zeros" }, `init: got "zeros"`},
		{func(c *Config) { c.Target = "high" }, `target: got "high"`},
		{func(c *Config) {
			c.Env, c.NormalizeObservations = "FourRooms-misc-v1", true
			c.Env = "MemoryChain-bsuite-v1"
		}, ""},
	} {
		config := small(c.change)
		err := config.Check(plan.Machine{})
		if c.want == "" {
			require.NoError(t, err, i)
			continue
		}
		require.ErrorContains(t, err, c.want, i)
		var e *settings.Error
		require.ErrorAs(t, err, &e, i)
		require.NotContains(t, err.Error(), "\n", i)
		_, err = New(&xlabridge.Reference{}, config)
		require.Error(t, err, i)
	}
}
