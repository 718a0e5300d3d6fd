package episode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
)

// floats returns the numbers of an array.
var floats = graphtest.Floats

func newRollout(t *testing.T, env, spec string, steps, episodes int) *Rollout {
	t.Helper()
	e, err := envs.Make(env)
	require.NoError(t, err)
	p, h, err := policy.Make(spec, nil, e.Spec().Observation, e.Spec().Action)
	require.NoError(t, err)
	return &Rollout{Env: e, Policy: p, Head: h, Steps: steps, Episodes: episodes}
}

// byLoop plays one episode in a Go loop, up to its end.
func byLoop(t *testing.T, r *Rollout, params any, key random.Key) (sum, length float64) {
	t.Helper()
	p := r.Env.DefaultParams()
	state, observation := r.Env.Reset(random.FoldIn(key, 0), p)
	carry := r.Policy.Start(params)
	for i := range r.Steps {
		var reward, terminated, truncated *graph.Array
		var out policy.Output
		carry, out = r.Policy.Act(params, carry, observation, random.FoldIn(random.FoldIn(key, 1<<31-1), i+1))
		state, observation, reward, terminated, truncated = r.Env.Step(random.FoldIn(key, i+1), state,
			r.Head.Action(out.Action), p)
		v, err := graph.Eval([]*graph.Array{reward, terminated, truncated})
		require.NoError(t, err)
		sum += floats(t, v[0])[0]
		length++
		if floats(t, v[1])[0]+floats(t, v[2])[0] > 0 {
			break
		}
	}
	return sum, length
}

// A population's episodes equal its members' episodes, one by one. Steps after the end do not count.
func TestEvaluateIsALoop(t *testing.T) {
	for _, c := range []struct {
		env   string
		steps int
	}{{"CartPole-v1", 40}, {"Pendulum-v1", 10}, {"MountainCarContinuous-v0", 10}} {
		t.Run(c.env, func(t *testing.T) {
			r := newRollout(t, c.env, "mlp:3", c.steps, 1)
			const members = 4
			keys := random.Split(random.New(5), members)
			population := graph.VMap(func(k random.Key) any {
				return r.Policy.Init(k)
			})(random.Split(random.New(6), members))
			fitness, summary := r.Evaluate(population, keys)
			returns, lengths := floats(t, fitness), floats(t, summary.Length)
			require.Equal(t, returns, floats(t, summary.Return))
			ended := false
			for i := range members {
				params := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(i) }, population)
				sum, length := byLoop(t, r, params, keys.At(i))
				require.InDelta(t, sum, returns[i], 1e-3)
				require.Equal(t, length, lengths[i])
				ended = ended || length < float64(c.steps)
			}
			require.Equal(t, c.env == "CartPole-v1", ended)
		})
	}
}

// A summary of several episodes is the mean of single ones, each with its own key.
func TestEpisodesAreAveraged(t *testing.T) {
	r := newRollout(t, "Pendulum-v1", "linear", 5, 3)
	params, key := r.Policy.Init(random.New(1)), random.New(2)
	got, err := graph.Eval(r.Member(params, key))
	require.NoError(t, err)
	sum, returns := 0., map[float64]bool{}
	for e := range 3 {
		one, err := graph.Eval(r.Episode(params, random.FoldIn(key, e)))
		require.NoError(t, err)
		sum += floats(t, one.Return)[0]
		returns[floats(t, one.Return)[0]] = true
	}
	require.InDelta(t, sum/3, floats(t, got.Return)[0], 1e-4)
	require.Len(t, returns, 3)
}

func TestEnvParamsAreUsed(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "linear", 30, 1)
	params, key := r.Policy.Init(random.New(1)), random.New(2)
	p := r.Env.DefaultParams().(classic.CartPoleParams)
	p.MaxSteps = graph.Of(int32(4))
	r.EnvParams = p
	got, err := graph.Eval(r.Episode(params, key))
	require.NoError(t, err)
	require.Equal(t, []float64{4}, floats(t, got.Length))
}

// A plan does not change results, even if the unrolled steps do not divide the steps, or if episodes run in turn.
func TestPlansGiveTheSameEpisodes(t *testing.T) {
	keys := random.Split(random.New(5), 3)
	var want []float64
	for _, p := range []plan.Plan{{}, {BatchLast: true}, {Unroll: 4}, {BatchLast: true, Unroll: 2}, {EpisodeBatch: 1},
		{EpisodeBatch: 2, Unroll: 4}, {EpisodeBatch: 4}, {EpisodeBatch: 1, BatchLast: true}} {
		r := newRollout(t, "Pendulum-v1", "mlp:3", 7, 4)
		r.Plan, r.Gather = p, true
		population := graph.VMap(func(k random.Key) any { return r.Policy.Init(k) })(random.Split(random.New(6), 3))
		fitness, summary := r.Evaluate(population, keys)
		got := append(floats(t, fitness), floats(t, summary.Observed.Mean)...)
		if want == nil {
			want = got
		}
		require.InDeltaSlice(t, want, got, 1e-4, p.String())
	}
}

// drifter is a policy with memory that draws: it carries a sum of observations and of noise from the step's key.
type drifter struct{}

func (drifter) Traits() (t policy.Traits[*graph.Array, *graph.Array]) { return t }
func (drifter) Init(random.Key) *graph.Array                          { return graph.Scalar(.5) }
func (drifter) Start(params *graph.Array) *graph.Array                { return params }
func (drifter) Act(_, carry, observation *graph.Array, key random.Key) (*graph.Array, policy.Output) {
	x := carry.Add(observation.Index(1)).Add(random.Normal(key, graph.ShapeOf(graph.Float32)))
	return x, policy.Output{Action: x.Reshape(1)}
}

// A policy's memory lasts an episode, and its keys differ from the environment's, in a loop and in a scan.
func TestPoliciesCarryAndDraw(t *testing.T) {
	r := newRollout(t, "Pendulum-v1", "linear", 9, 1)
	r.Policy = policy.Erase(drifter{})
	params, err := graph.Eval(r.Policy.Init(random.New(0)))
	require.NoError(t, err)
	for seed := range int64(3) {
		got, err := graph.Eval(r.Episode(params, random.New(seed)))
		require.NoError(t, err)
		sum, length := byLoop(t, r, params, random.New(seed))
		require.InDelta(t, sum, floats(t, got.Return)[0], 1e-3)
		require.Equal(t, length, floats(t, got.Length)[0])
	}
}

// Hooks see each step. Steps after the end are not Alive.
func TestHooksSeeTheSteps(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "mlp:3", 60, 1)
	params := graph.MapTree(graph.ZerosLike, r.Policy.Init(random.New(1))) // always pushes to the left, and falls
	type row struct{ T, Reward, Alive, Action, Observation, Over *graph.Array }
	summary, rows := Play(r, params, random.New(2), func(s Step) row {
		return row{s.Number, s.Reward, s.Alive, s.Action, s.Observation, s.Terminated.Or(s.Truncated)}
	})
	rows, err := graph.Eval(rows)
	require.NoError(t, err)
	length := int(floats(t, summary.Length)[0])
	require.Less(t, length, 60)
	alive, over := floats(t, rows.Alive), floats(t, rows.Over)
	for i := range 60 {
		require.Equal(t, float64(i+1), floats(t, rows.T)[i])
		require.Equal(t, i < length, alive[i] == 1, "step %d", i+1)
	}
	require.Equal(t, 1., over[length-1], "the last step that counts is the one that ended the episode")
	require.Equal(t, []int{60, 4}, rows.Observation.Dims())
}

// Reads counts padded layers, state and observation from shapes.
func TestReads(t *testing.T) {
	for spec, params := range map[string]int{"mlp:16,16": 386, "mlp:60,60": 4610, "linear": 10} {
		reads, err := newRollout(t, "CartPole-v1", spec, 1, 1).Reads()
		require.NoError(t, err)
		require.Equal(t, plan.Reads{Params: 4 * params, Carry: 4 * (5 + 4)}, reads, spec)
	}
}

// forgetful is a policy with memory whose outputs are NaN in the step after `at`.
type forgetful struct{ at float64 }

func (forgetful) Traits() (t policy.Traits[*graph.Array, *graph.Array]) { return t }
func (forgetful) Init(random.Key) *graph.Array                          { return graph.Scalar(0) }
func (forgetful) Start(*graph.Array) *graph.Array                       { return graph.Scalar(0) }
func (f forgetful) Act(_, steps, _ *graph.Array, _ random.Key) (*graph.Array, policy.Output) {
	out := graph.Select(steps.Eq(f.at), graph.Float32s([]float32{1, float32(math.NaN())}),
		graph.Float32s([]float32{1, 0}))
	return steps.Add(1), policy.Output{Action: out}
}

// NaN outputs of a policy with memory make the member fail, although a head turns them into an action. Steps
// after an episode's end do not count.
func TestOutputsThatAreNoNumbers(t *testing.T) {
	env, err := envs.Make("CartPole-v1")
	require.NoError(t, err)
	head, err := policy.HeadOf(env.Spec().Action)
	require.NoError(t, err)
	// always to one side the pole falls within 12 steps
	for at, failed := range map[float64]float64{2: 3, 0: 1, 19: 0, 100: 0} {
		r := &Rollout{Env: env, Policy: policy.Erase(forgetful{at}), Head: head, Steps: 20, Episodes: 1}
		s := r.Member(graph.Scalar(0), random.New(1))
		got, err := graph.Float(s.Failed)
		require.NoError(t, err)
		require.Equal(t, failed, got, "at %v", at)
		total, err := graph.Float(s.Return)
		require.NoError(t, err)
		require.Equal(t, failed > 0, math.IsNaN(total), "at %v: %v", at, total)
	}
}
