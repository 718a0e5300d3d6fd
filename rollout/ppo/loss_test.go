package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/rollout/train"
	"xlarun/third_party/oracles"
)

// With one epoch of one minibatch the policy that learns is the one that collected: ratios are 1, whatever was
// remembered and reset on the way.
func TestWhatIsLearnedIsWhatWasPlayed(t *testing.T) {
	for i, c := range []struct {
		env, policy string
		shared      bool
	}{{"CartPole-v1", "gru:4", false}, {"CartPole-v1", "lstm:5", true}, {"Pendulum-v1", "mlp:8", false}} {
		g := smallProgram(t, func(x *Config) {
			x.Env, x.Policy, x.Shared, x.Epochs, x.Minibatches, x.Horizon = c.env, c.policy, c.shared, 1, 1, 24
			x.NormalizeObservations = i != 1
		})
		_, metrics := evalUpdates(t, g, 2)
		for _, m := range metrics {
			require.InDelta(t, 0, m["kl"], 1e-6, "%v", c)
			require.EqualValues(t, 0, m["clip_fraction"], "%v", c)
			require.InDelta(t, 0, m["policy_loss"], 1e-5, "%v: advantages have the mean 0", c)
			require.Greater(t, m["gradient_norm"], 0.)
		}
	}
}

// The loss, its parts, its gradient and two steps of the optimizer are JAX's on the same experience.
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
		net, err := newNetwork("mlp:4", makers{actor: func(outputs int) (policy.Policy, error) {
			m, err := policy.NewMLP([]int{5}, "tanh", box, outputs)
			return policy.Erase(m), err
		}}, policy.Categorical{N: 4}, 4, 1, false, true)
		require.NoError(t, err)
		config := DefaultConfig()
		config.EvalEnvs = 0
		config.Clip, config.ValueWeight, config.Entropy, config.MaxGradNorm, config.LearningRate = settings.Num(v.Clip),
			settings.Num(v.V), settings.Num(v.E), settings.Num(v.M), settings.Num(v.Rate)
		config.ClipValues, config.Anneal = v.C, false
		g, err := config.program()
		require.NoError(t, err)
		g.network = net
		config.Epochs, config.Minibatches = 2, 1
		u := g.newUpdate(g.start(random.New(0)), inputs{})
		p := Params{layers(v.Actor), layers(v.Critic), graph.None{}}
		n := v.Action.Shape[0]
		b := batch{Observation: array(v.Observation), Legal: array(v.Legal), Action: array(v.Action),
			Key: random.Split(random.New(0), n), First: graph.Zeros(graph.ShapeOf(graph.Bool, n)),
			LogProb: array(v.LogProb), Value: array(v.Value), Advantage: array(v.Advantage), Target: array(v.Target)}
		loss := func(p Params) (*graph.Array, losses) {
			return u.loss(u, p, u.runBatch(p, b), b, normalizer(b.Advantage))
		}
		total, parts := loss(p)
		want := graphtest.Floats(t, array(v.Losses))
		for k, a := range append([]*graph.Array{total}, graph.Leaves(parts)...) {
			got, err := graph.Float(a)
			require.NoError(t, err)
			require.InEpsilon(t, 1+want[k], 1+got, 2e-6, "case %d, part %d", i, k)
		}
		_, _, gradient := graph.ValueAndGradAux(func(p Params, _ graph.None) (*graph.Array, losses) {
			return loss(p)
		})(p, graph.None{})
		same := func(what string, got []*graph.Array, want []oracles.Array, tolerance float64) {
			require.Len(t, got, len(want))
			for k := range want {
				x := graphtest.Floats(t, got[k])
				y := graphtest.Floats(t, array(want[k]))
				require.InDeltaSlice(t, y, x, tolerance, "case %d, %s of leaf %d", i, what, k)
			}
		}
		same("gradient", graph.Leaves(gradient), v.Gradients, 1e-5)
		norm, err := graph.Float(optim.GlobalNorm(gradient))
		require.NoError(t, err)
		require.InEpsilon(t, v.Norm, norm, 1e-5)

		// Two epochs of one minibatch: the order of the rows changes nothing.
		u.stepper.Loss = u.minibatchLoss(transitions{net, b})
		after, metrics := u.updateEpochs(random.New(0), n, train.State[Params]{Params: p,
			Optimizer: u.stepper.Optimizer.Init(p), Scale: train.NoScale{}})
		same("step", graph.Leaves(after.Params), v.After, 3e-6)
		count, err := graph.Float(metrics.Minibatches)
		require.NoError(t, err)
		require.EqualValues(t, 2, count)
	}
}

// Equal advantages are 0 when they are normalized, and equal targets have no variance that could be explained: the
// rounded mean of equal numbers is another one.
func TestNormalizedEqualAdvantages(t *testing.T) {
	for _, n := range []int{1, 3, 5, 7, 100} {
		for _, v := range []float64{.1, 1000.1, -1e6 - 1} {
			x := graph.Full(graph.ShapeOf(graph.Float32, n), v)
			some := graph.Concatenate(0, x, graph.Float32s([]float32{float32(math.NaN())}))
			for _, a := range []*graph.Array{x, some} {
				for _, got := range graphtest.Floats(t, normalizer(a)(x)) {
					require.Zero(t, got, "%d of %v", n, v)
				}
			}
			explained := explainedVariance(graph.Iota(n).Convert(graph.Float32), x)
			require.Zero(t, graphtest.Floats(t, explained)[0], "%d of %v", n, v)
		}
	}
	none := graph.Full(graph.ShapeOf(graph.Float32, 2), math.NaN())
	require.Equal(t, []float64{0}, graphtest.Floats(t, normalizer(none)(graph.Scalar(0))))
}
