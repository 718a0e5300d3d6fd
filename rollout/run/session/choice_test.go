package session

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// gamble is an environment of one step. Action 0 has a reward of 0 to 1; action 1 one of 5 in half of the episodes, and
// none that is a number in the others.
type gamble struct{}

func (gamble) Spec() envs.Spec {
	return envs.Spec{ID: "Gamble-v0", Observation: envs.Symmetric(1), Action: envs.Discrete{N: 2}, MaxSteps: 1}
}
func (gamble) DefaultParams() graph.None { return graph.None{} }
func (g gamble) Reset(key random.Key, _ graph.None) (state, obs *graph.Array) {
	state = random.Uniform(key, graph.ShapeOf(graph.Float32), 0, 1)
	return state, g.Observe(state, graph.None{})
}
func (gamble) Observe(*graph.Array, graph.None) *graph.Array { return graph.Float32s([]float32{0}) }
func (g gamble) Step(_ random.Key, state, action *graph.Array,
	_ graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	reward = graph.Select(action.Eq(1), graph.Select(state.Lt(.5), math.NaN(), 5.), state)
	return state, g.Observe(state, graph.None{}), reward, envs.False(), envs.False()
}

// The best member of a choice is evaluated once more, and all of its names have that one result. Members that failed
// are last, whatever their mean: one that failed in half of its episodes was once the best. The picture is of the
// episode whose return is the median.
func TestTheBestOfSeveral(t *testing.T) {
	env := envs.Erase(gamble{})
	p, head, err := policy.Make("linear", nil, env.Spec().Observation, env.Spec().Action)
	require.NoError(t, err)
	r := &episode.Rollout{Env: env, Policy: p, Head: head, Steps: 1, Episodes: 1}
	play := &run.Play{Rollout: func() (*episode.Rollout, error) { return r, nil }, EvalEpisodes: 20,
		Goal: func(envs.Spec) float64 { return math.NaN() }}
	taking := func(action int) any { // the observation is 0, and so are the weights: the bias decides
		leaves, tree := graph.Flatten(p.Init(random.New(0)))
		for i, a := range leaves {
			leaves[i] = graph.Zeros(a.Shape())
			if a.Rank() == 1 {
				bias := []float32{1, 0}
				if action == 1 {
					bias = []float32{0, 1}
				}
				leaves[i] = graph.Float32s(bias)
			}
		}
		return tree.Unflatten(leaves)
	}
	candidates := []run.Candidate{{Name: "mean", Params: taking(1)}, {Name: "best_ever", Params: taking(0)}}
	e, err := NewEvaluator(&xlabridge.Reference{}, play, "a test", candidates, 1, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	found, err := e.best(candidates, []run.HallEntry{
		{Candidate: run.Candidate{Name: "hall-of-fame", Params: taking(1)}},
		{Candidate: run.Candidate{Name: "hall-of-fame", Params: taking(0)}, Fitness: 7}}, random.New(1))
	require.NoError(t, err)

	best, steady, gambler := found.best, found.hall[0], found.hall[1]
	require.Equal(t, "best_ever", best.Name)
	require.Zero(t, best.EvalResult.Failed)
	require.NotNil(t, best.Choice)
	require.NotEqual(t, best.Choice.Mean, best.EvalResult.Mean, "on other episodes")
	require.Equal(t, 7., steady.Fitness, "the same parameters")
	require.Equal(t, best.facts(), steady.facts(), "one member has one result")
	require.Equal(t, 5., gambler.EvalResult.Mean)
	require.Equal(t, gambler.facts(), found.final.facts())

	text := map[string]any{}
	for _, f := range gambler.facts() {
		text[f.Name] = f.Value
	}
	require.Equal(t, "episodes of the choice", text["evaluated_on"])
	require.Equal(t, gambler.EvalResult.Failed, text["failed_episodes"])
	require.Greater(t, gambler.EvalResult.Failed, 4)
	s := &session{best: best, hall: found.hall}
	require.Contains(t, s.hallText(), "of 20 episodes failed) when the best one was chosen")
	require.Contains(t, s.hallText(), "mean returns "+best.Choice.String()+" to 5 ± 0 (")

	median := best.EvalResult.Episode(episode.MedianEpisode)
	rec, err := episode.Record(&xlabridge.Reference{}, r, best.Params, random.FoldIn(best.episodes, median))
	require.NoError(t, err)
	require.InDelta(t, best.EvalResult.Return[median], rec.Return(1), 1e-6)
}
