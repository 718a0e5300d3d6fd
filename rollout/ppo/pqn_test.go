package ppo

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// smallPQN is an experiment that compiles and runs in little time.
func smallPQN(change func(q *PQN)) PQN {
	q := DefaultPQN()
	q.EvalEnvs = 0
	q.Policy, q.Envs, q.Horizon, q.Minibatches, q.Steps, q.Target = "normedmlp:8", 4, 16, 4, 64*20, "0"
	if change != nil {
		change(&q)
	}
	return q
}

func startPQN(t *testing.T, b xlabridge.Backend, q PQN) *Training {
	t.Helper()
	r, err := NewPQN(b, q)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// The loss of an update is the loss of the paper's loop over a rollout: Q(lambda) from the last step back, with nothing
// after a termination, and the best value of the next observation after a truncation.
func TestPQNTargetsAreTheLoops(t *testing.T) {
	const horizon, environments, gamma, lambda, scale = 9, 3, .9, .7, .3
	for i, c := range []struct {
		what   string
		change func(q *PQN)
	}{
		{"a policy without memory", func(*PQN) {}},
		{"one with memory", func(q *PQN) { q.Policy = "gru:3" }},
		{"observations normalized", func(q *PQN) { q.NormalizeObservations = true }},
		{"lambda 0", func(q *PQN) { q.Lambda = settings.Num(0) }},
	} {
		q := smallPQN(func(q *PQN) {
			q.Env, q.Policy, q.Envs, q.Horizon, q.Steps, q.Epochs, q.Minibatches = "Clock-v0", "normedmlp:3",
				environments, horizon, 100, 1, 1
			q.Gamma, q.Lambda, q.LearningRate, q.RewardScale = settings.Num(gamma), settings.Num(lambda),
				settings.Num(1e-3), settings.Num(scale)
			c.change(q)
		})
		g, err := q.program()
		require.NoError(t, err)
		in := g.inputs(population.CutTiles(1, 1, 1))
		s := evaluated(t, g.starts(random.New(3), 1))
		var carries [environments]any // what the network remembers
		for e := range environments {
			carries[e] = g.actor.Start(s.Params.Actor)
		}
		ends := [2]int{} // how many steps terminated, and were truncated
		for update := range 3 {
			u := g.newUpdate(s, in)
			stepsKey, _ := random.Split2(random.FoldIn(s.Key, s.Update))
			acting := u.actingParams(s.Params, s.Update, in.Updates)
			_, m := u.rollout(acting, s.EnvStates, u.stepKeys(splitKeys(stepsKey, horizon, environments)))
			m = evaluated(t, m)
			want := 0.
			for e := range environments {
				var chosen, best, final, reward [horizon]float64
				var terminated, truncated [horizon]bool
				for k := range horizon {
					now := cell(m, k, e)
					var out policy.Output
					carries[e], out = g.actor.Act(s.Params.Actor, carries[e], u.normalize.apply(now.Observation),
						now.Key)
					values := floatsOf(t, out.Action)
					_, after := g.actor.Act(s.Params.Actor, carries[e], u.normalize.apply(now.NextObservation),
						now.Key)
					chosen[k], best[k], final[k] = values[int(floatsOf(t, now.Action)[0])], slices.Max(values),
						slices.Max(floatsOf(t, after.Action))
					reward[k], terminated[k], truncated[k] = floatsOf(t, now.Reward)[0]*scale,
						floatsOf(t, now.Terminated)[0] == 1, floatsOf(t, now.Truncated)[0] == 1
					if terminated[k] || truncated[k] {
						carries[e] = g.actor.Start(s.Params.Actor)
					}
				}
				target, next, by := 0., 0., q.Lambda.Value
				for k := horizon - 1; k >= 0; k-- {
					switch {
					case terminated[k]:
						target, ends[0] = reward[k], ends[0]+1
					case truncated[k] || k == horizon-1:
						target, ends[1] = reward[k]+gamma*final[k], ends[1]+1
					default:
						target = reward[k] + gamma*((1-by)*next+by*target)
					}
					next = best[k]
					want += (chosen[k] - target) * (chosen[k] - target) / 2 / horizon / environments
				}
			}
			after, figures := g.updateStep(s, in)
			s = evaluated(t, after)
			got := floatsOf(t, figures)[slices.Index(g.metricNames(), "value_loss")]
			require.InDelta(t, want, got, 1e-4*max(1, want), "case %d, %s, update %d", i+1, c.what, update)
		}
		require.Positive(t, ends[0], c.what)
		require.Positive(t, ends[1], c.what)
	}
}

// Epsilon falls evenly over its part of the run, and that share of the actions is any.
func TestPQNExplores(t *testing.T) {
	for i, c := range []struct {
		from, to, over float64
		want           [5]float64 // in the updates 0, 5, 10, 20, 99 of 100
	}{
		{1, .1, .2, [5]float64{1, .775, .55, .1, .1}},
		{1, 0, 1, [5]float64{1, .95, .9, .8, .01}},
		{1, .1, 0, [5]float64{.1, .1, .1, .1, .1}},
		{.3, .3, .5, [5]float64{.3, .3, .3, .3, .3}},
	} {
		e := QLearning{Epsilon: settings.Num(c.from), EpsilonEnd: settings.Num(c.to), EpsilonOver: settings.Num(c.over)}
		for k, update := range []int32{0, 5, 10, 20, 99} {
			require.InDelta(t, c.want[k], floatsOf(t, e.epsilon(graph.Of(update), graph.Scalar(100)))[0], 1e-6,
				"case %d, update %d", i+1, update)
		}
	}
	head, err := policy.HeadOf(envs.Discrete{N: 4})
	require.NoError(t, err)
	x := epsilonGreedy{4, head}
	out := graph.Float32s([]float32{1, -2, 7, .5})
	for i, epsilon := range []float64{0, .4, 1} {
		const n = 8000
		draws := floatsOf(t, graph.VMap(func(key random.Key) *graph.Array {
			return x.Draw(graph.Scalar(epsilon), out, x.Noise(key))
		})(random.Split(random.New(int64(i)), n)))
		counts := [4]float64{}
		for _, a := range draws {
			counts[int(a)] += 1. / n
		}
		entropy := 0.
		for a, share := range counts {
			want := epsilon / 4
			if a == 2 {
				want += 1 - epsilon
			}
			require.InDelta(t, want, share, .02, "case %d, action %d", i+1, a)
			if want > 0 {
				require.InDelta(t, math.Log(want),
					floatsOf(t, x.LogProb(graph.Scalar(epsilon), out, graph.Of(int32(a))))[0], 1e-5)
				entropy -= want * math.Log(want)
			}
		}
		require.InDelta(t, entropy, floatsOf(t, x.Entropy(graph.Scalar(epsilon), out))[0], 1e-5, "case %d", i+1)
	}
	highestNoise := graph.Float32s([]float32{0, math.Nextafter32(1, 0)})
	require.Equal(t, []float64{3}, floatsOf(t, x.Draw(graph.Scalar(1), out, highestNoise)))
}

// safe is an environment of two steps, which pays 1 at the end if the first action was the kind of the episode and the
// second one the other kind.
type safe struct{}

type safeState struct {
	Kind, Clock *graph.Array // i32[]
	Right       *graph.Array // bool[]: the first action was
}

func init() { envs.MustRegister[safeState, graph.None](safe{}) }

func (safe) Spec() envs.Spec {
	return envs.Spec{ID: "Safe-v0", Observation: envs.Discrete{N: 4}, Action: envs.Discrete{N: 2}, MaxSteps: 2}
}
func (safe) DefaultParams() graph.None { return graph.None{} }
func (e safe) Reset(key random.Key, p graph.None) (s safeState, obs *graph.Array) {
	s = safeState{random.Randint(key, graph.ShapeOf(graph.Int32), 0, 2), graph.Of(int32(0)), graph.Of(false)}
	return s, e.Observe(s, p)
}
func (safe) Observe(s safeState, _ graph.None) *graph.Array { return s.Kind.Mul(2).Add(s.Clock) }
func (e safe) Step(_ random.Key, s safeState, action *graph.Array,
	p graph.None) (next safeState, obs, reward, terminated, truncated *graph.Array) {
	right, last := action.Eq(s.Kind), s.Clock.Eq(1)
	reward = last.And(s.Right).And(right.Not()).Convert(graph.Float32)
	next = safeState{s.Kind, graph.Of(int32(1)), right}
	return next, e.Observe(next, p), reward, last, envs.False()
}

// Actions are learned whose reward comes a step later. The interpreter computes it.
func TestPQNLearnsWhatPaysLater(t *testing.T) {
	const updates = 24
	r := startPQN(t, &xlabridge.Reference{}, smallPQN(func(q *PQN) {
		q.Env, q.Policy, q.Envs, q.Horizon, q.Minibatches, q.Epochs = "Safe-v0", "linear", 16, 8, 4, 2
		q.LearningRate, q.Steps = settings.Num(.3), 16*8*updates
	}))
	all := steps(t, r, updates)
	last := all[updates-1]
	require.Less(t, of(t, all[0], "mean_return"), .5, "a quarter, by chance")
	require.Greater(t, of(t, last, "mean_return"), .85)
	require.EqualValues(t, 8, of(t, last, "minibatches"))
	require.InDelta(t, 1, of(t, all[0], "epsilon"), 1e-6)
	require.InDelta(t, .05, of(t, last, "epsilon"), 1e-6)
}

// Nothing is learned from rewards that are NaN.
func TestPQNWithoutNumbers(t *testing.T) {
	q := smallPQN(func(q *PQN) { q.Env, q.Epochs = "Flawed-v0", 1 })
	g, err := q.program()
	require.NoError(t, err)
	failed := 0.
	_, metrics := evalUpdates(t, g, 4)
	for _, m := range metrics {
		failed += m["failed"]
		require.False(t, math.IsNaN(m["value_loss"]))
		require.Zero(t, m["skipped"])
	}
	require.Positive(t, failed)
	// Of a minibatch in which nothing counts the gradient is 0.
	q = smallPQN(nil)
	g, err = q.program()
	require.NoError(t, err)
	u := g.newUpdate(g.start(random.New(0)), inputs{Updates: graph.Scalar(1)})
	e := batch{Action: graph.Int32s([]int32{0, 1}), Target: graph.Float32s([]float32{3, 4}),
		Valid: graph.Of([]bool{false, true})}
	loss := func(q *graph.Array) *graph.Array {
		x, _ := u.loss(u, Params{}, outputs{Head: q}, e, nil)
		return x
	}
	values := graph.Float32s([]float32{1, 2, 5, 7}, 2, 2)
	require.InDelta(t, (7-4)*(7-4)/2./2, floatsOf(t, loss(values))[0], 1e-6)
	require.Equal(t, []float64{0, 0, 0, 1.5}, floatsOf(t, graph.Grad(loss)(values)))
}

// Bad input is refused in a sentence before anything is compiled.
func TestPQNRefuses(t *testing.T) {
	for i, c := range []struct {
		change func(q *PQN)
		want   string
	}{
		{func(q *PQN) {
			q.Minibatches = 3
		}, "minibatches: got 3, want a number that divides 64, the steps of an update"},
		{func(q *PQN) {
			q.Policy, q.Minibatches = "gru:4", 8
		}, "minibatches: got 8, want a number that divides 4, the environments"},
		{func(q *PQN) {
			q.Env = "Pendulum-v1"
		}, "an environment with discrete actions, each of which has a value"},
		{func(q *PQN) { q.Env = "Shelf-v0" }, "an environment whose actions are always legal"},
		{func(q *PQN) { q.Steps = 10 }, "steps: got 10, want at least 64"},
		{func(q *PQN) { q.LearningRate = settings.Number{Each: "1e-3,1e-4"} }, "learning-rate: got"},
		{func(q *PQN) {
			q.Policy = "spiking:4"
			q.Parted = settings.Values{"policy.plasticity": "rewarded"}
		}, "pqn learns by gradients"},
	} {
		q := smallPQN(c.change)
		err := q.Check(plan.Machine{})
		require.ErrorContains(t, err, c.want, i)
		var e *settings.Error
		require.ErrorAs(t, err, &e, i)
	}
}

// The metrics are those that the experiment names, and the display shows only these.
func TestPQNMetrics(t *testing.T) {
	q := smallPQN(nil)
	g, err := q.program()
	require.NoError(t, err)
	names := append(g.metricNames(), run.EnvSteps)
	require.Equal(t, q.Measures(), names)
	require.Contains(t, names, "epsilon")
	require.NotContains(t, names, "clip_fraction")
	for _, row := range q.Board() {
		require.True(t, row.Gaps, row.Label)
		for _, p := range row.Parts {
			require.Contains(t, names, p.Metric)
		}
	}
	require.Contains(t, q.Purpose(), "pqn CartPole-v1, normedmlp:8, 4 environments x 16 steps")
	kind, ok := run.Lookup("pqn")
	require.True(t, ok)
	require.IsType(t, &PQN{}, kind.New())
}
