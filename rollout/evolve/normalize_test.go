package evolve

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// normalized returns an experiment with normalized observations, padded tiles and several episodes.
func normalized(strategy, policy string, episodes, devices int) Config {
	c := DefaultConfig()
	c.NormalizeObservations = true
	c.Population, c.Steps, c.Policy, c.Strategy, c.Tile, c.Episodes, c.Devices, c.Seed = 22, 30, policy, strategy, 8,
		episodes, devices, 3
	return c
}

var numbers = graphtest.Floats

// The statistics equal a loop over all observations of all members so far, in float64. They normalize the observations
// of the next generation.
func TestObservedIsALoop(t *testing.T) {
	for _, episodes := range []int{1, 3} {
		c := normalized("simplega", "linear", episodes, 1)
		c.Population = 10
		e := start(t, &xlabridge.Reference{}, c)
		r, g := *e.Rollout(), e.program
		r.Gather, r.Episodes = false, 1
		var all [][]float64
		for number := range 2 {
			state, err := e.State()
			require.NoError(t, err)
			s := state.(generation.State)
			keys := random.FoldIn(s.Key, 2*number)
			fitness := fitnessOf(t, e)
			for i := range c.Population {
				var draw any
				zero := graph.Of(int32(0))
				require.NoError(t, graph.Try(func() {
					draw = g.Strategy.Sample(random.FoldIn(keys, i), s.Strategy, zero)
				}))
				params := g.Member(g.Strategy.Member(s.Strategy, draw, zero), s.Observed.Scale())
				mean := 0.
				for k := range episodes {
					key := random.FoldIn(random.FoldIn(s.Key, 2*number+1), i)
					if episodes > 1 {
						key = random.FoldIn(key, k)
					}
					type seen struct{ Observation, Alive *graph.Array }
					sum, steps := episode.Play(&r, params, key, func(s episode.Step) seen {
						return seen{s.Observation, s.Alive}
					})
					observations, alive := numbers(t, steps.Observation), numbers(t, steps.Alive)
					for step, lives := range alive {
						if lives == 1 {
							all = append(all, observations[4*step:4*step+4])
						}
					}
					mean += numbers(t, sum.Return)[0] / float64(episodes)
				}
				require.InDelta(t, mean, fitness[i], 1e-5, "what was played here is what was played there")
			}
			after, err := e.Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, []float64{float64(len(all))}, numbers(t, after.Arrays["observed.count"]))
			means, variances := numbers(t, after.Arrays["observed.mean"]), numbers(t, after.Arrays["observed.variance"])
			for j := range 4 {
				mean, variance := 0., 0.
				for _, x := range all {
					mean += x[j] / float64(len(all))
				}
				for _, x := range all {
					variance += (x[j] - mean) * (x[j] - mean) / float64(len(all))
				}
				require.InDelta(t, mean, means[j], 1e-5)
				require.InDelta(t, variance, variances[j], 1e-5*(1+variance))
				require.Positive(t, variance)
			}
		}
	}
}

// The statistics of observations are not part of a genome. The first generation equals that of a run without
// normalization.
func TestNormalizingIsNoPartOfAGenome(t *testing.T) {
	c := normalized("openes", "linear", 1, 1)
	with := start(t, &xlabridge.Reference{}, c)
	c.NormalizeObservations = false
	without := start(t, &xlabridge.Reference{}, c)
	require.Equal(t, without.Profile().Fact("parameters"), with.Profile().Fact("parameters"))
	first := steps(t, with, 1)
	require.Equal(t, steps(t, without, 1), first)
	require.NotContains(t, bytesOf(t, without), "observed.count")
	s, err := with.Snapshot(t.Context())
	require.NoError(t, err)
	candidates, err := with.Candidates(s)
	require.NoError(t, err)
	mean, best := candidates[0].Params.(policy.Normalized), candidates[1].Params.(policy.Normalized)
	require.Equal(t, numbers(t, s.Arrays["observed.mean"]), numbers(t, mean.Observation.Mean))
	require.Equal(t, []float64{1, 1, 1, 1}, numbers(t, best.Observation.Deviation),
		"it did its best before anything was observed")
}

// A member that is saved and loaded plays as it did for the judge, episode by episode. Without its statistics, or with
// others, it does not.
func TestNormalizedMembersAreSaved(t *testing.T) {
	b := &xlabridge.Reference{}
	e := start(t, b, normalized("openes", "gru:3", 1, 1))
	steps(t, e, 3)
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	candidates, err := e.Candidates(s)
	require.NoError(t, err)
	play := func(r *episode.Rollout, params any) []float64 {
		j, err := episode.NewEvaluator(b, r, params, 1, 5, "a test")
		require.NoError(t, err)
		defer func() { require.NoError(t, j.Close()) }()
		figures, err := j.Play([]any{params}, random.New(8))
		require.NoError(t, err)
		return figures[0].Return
	}
	c := e.Config()
	r, err := c.Rollout()
	require.NoError(t, err)
	want := play(r, candidates[0].Params)

	path := filepath.Join(t.TempDir(), "member.safetensors")
	metadata := episode.Describe("CartPole-v1", "gru:3", nil, c.Steps)
	episode.DescribeNormalized(metadata, r.Policy)
	require.NoError(t, safetensors.Save(path, candidates[0].Params, metadata))
	m, err := episode.Load(path)
	require.NoError(t, err)
	require.Equal(t, want, play(m.Rollout, m.Params))

	other := m.Params.(policy.Normalized)
	other.Observation.Mean = graph.Float32s([]float32{1, -1, 1, -1})
	require.NotEqual(t, want, play(m.Rollout, other))
	for value, wants := range map[string]string{"yes": `its normalized_observations are "yes", want true`, "": ""} {
		metadata["normalized_observations"] = value
		require.NoError(t, safetensors.Save(path, candidates[0].Params, metadata))
		m, err := episode.Load(path)
		if wants != "" {
			require.ErrorContains(t, err, wants)
			continue
		}
		require.NoError(t, err)
		require.NotEqual(t, want, play(m.Rollout, m.Params), "its observations are taken as they are")
	}
	metadata["normalized_observations"] = "true"
	require.NoError(t, safetensors.Save(path, candidates[0].Params.(policy.Normalized).Own, metadata))
	_, err = episode.Load(path)
	require.ErrorContains(t, err, `the file has no array "Observation.Mean" of f32[4]`)
}

// wild is lottery with the observations high, none or low in two thirds of the episodes.
type wild struct{ lottery }

func (w wild) Observe(s *graph.Array, _ graph.None) *graph.Array {
	one := graph.Select(s.Lt(2), float32(w.high), graph.Select(s.Lt(4), float32(w.low),
		graph.Select(s.Lt(6), float32(w.none), s)))
	return graph.Stack([]*graph.Array{one, s, s.Neg(), graph.Scalar(7)}, 0)
}

func (w wild) Reset(key random.Key, p graph.None) (state, obs *graph.Array) {
	state, _ = w.lottery.Reset(key, p)
	return state, w.Observe(state, p)
}

// Episodes with observations that are NaN, infinite or too large to be squared are left out of the statistics. Constant
// elements have no deviation, and do no harm.
func TestWildObservationsSpoilNothing(t *testing.T) {
	inf := math.Inf(1)
	for i, env := range []wild{{lottery{inf, -inf, math.NaN()}}, {lottery{1e30, -1e25, 3e38}}} {
		c := normalized("openes", "linear", 1, 1)
		c.Steps = 3
		x, err := c.setup(plan.Machine{Devices: 1})
		require.NoError(t, err)
		x.Rollout.Env = envs.Erase(env)
		e, err := c.build(&xlabridge.Reference{}, x, plan.Choice{})
		require.NoError(t, err)
		steps(t, e, 2)
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		require.NoError(t, e.Close())
		count, mean, variance := numbers(t, s.Arrays["observed.count"])[0], numbers(t, s.Arrays["observed.mean"]),
			numbers(t, s.Arrays["observed.variance"])
		require.Greater(t, count, 1., "case %d", i)
		require.Less(t, count, 40., "case %d: a third of the episodes, of one step", i)
		require.InDelta(t, 7.5, mean[0], 1, "case %d", i)
		require.InDelta(t, mean[0], -mean[2], 1e-5, "case %d", i)
		require.InDelta(t, .75, variance[0], .5, "case %d", i)
		require.InDelta(t, 7, mean[3], 1e-5, "case %d", i)
		require.InDelta(t, 0, variance[3], 1e-9, "case %d", i)
	}
}

// Only boxes can be normalized.
func TestNormalizingOfNumbersOnly(t *testing.T) {
	c := normalized("openes", "linear", 1, 1)
	c.Env = "Cells-v0"
	envs.MustRegister(cells{})
	_, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.EqualError(t, err,
		`normalize-observations: got true, want observations that are boxes of numbers, which have a mean; here `+
			`they are Discrete(9): leave it out`)
}

// cells is point with a number as its observation.
type cells struct{ point }

func (c cells) Reset(key random.Key, none graph.None) (pointState, *graph.Array) {
	s, _ := c.point.Reset(key, none)
	return s, s.Now
}
func (cells) Observe(s pointState, _ graph.None) *graph.Array { return s.Now }
func (c cells) Step(key random.Key, s pointState, action *graph.Array,
	none graph.None) (next pointState, obs, reward, terminated, truncated *graph.Array) {
	next, _, reward, terminated, truncated = c.point.Step(key, s, action, none)
	return next, next.Now, reward, terminated, truncated
}

func (cells) Spec() envs.Spec {
	return envs.Spec{ID: "Cells-v0", Observation: envs.Discrete{N: 9}, Action: envs.Discrete{N: 3}, MaxSteps: 100}
}
