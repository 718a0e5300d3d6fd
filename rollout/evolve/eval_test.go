package evolve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// An evaluation has the returns of the member that the run would have saved before the generation, in a loop over
// episodes with the keys of the evaluation. Populations with and without one learn the same, to the byte.
func TestEvaluationIsOfWhatIsSaved(t *testing.T) {
	const key = 1<<31 - 1 // see generation.Program
	for i, x := range []struct {
		strategy, policy     string
		population, episodes int
		envs                 int
		normalize            bool
	}{
		{"openes", "linear", 10, 1, 5, false}, // a tile of two pairs is padded; the others are new
		{"simplega", "gru:3", 7, 2, 5, false},
		{"eggroll", "mlp:9", 8, 1, 3, false},
		{"neat", "genome", 6, 1, 4, false},
		{"snes", "elman:3", 9, 3, 6, true},
	} {
		t.Run(x.strategy, func(t *testing.T) {
			c := DefaultConfig()
			c.Strategy, c.Policy, c.Population, c.Episodes, c.EvalEnvs = x.strategy, x.policy, x.population, x.episodes,
				x.envs
			c.Env, c.Steps, c.Tile, c.Target, c.Seed, c.EvalEvery = "Pendulum-v1", 12, 4, "0", int64(i), 4
			c.NormalizeObservations = x.normalize
			e := start(t, &xlabridge.Reference{}, c)
			for _, m := range steps(t, e, 3) {
				_, ok := m.Get(run.EvalReturn)
				require.Equal(t, m.Step != 3, ok, "generation %d", m.Step)
			}
			s, err := e.Snapshot(t.Context())
			require.NoError(t, err)
			m := steps(t, e, 1)[0]

			saved, err := e.Candidates(s)
			require.NoError(t, err)
			r, err := c.Rollout()
			require.NoError(t, err)
			state, err := e.Unflatten(s)
			require.NoError(t, err)
			play := xlabridge.Jit(&xlabridge.Reference{}, func(member *graph.Array) *graph.Array {
				own := random.FoldIn(random.FoldIn(random.FoldIn(state.(generation.State).Key, key), 3), member)
				return r.Member(saved[0].Params, own).Return
			})
			members := (x.envs + x.episodes - 1) / x.episodes
			sum, squares := 0., 0.
			for member := range members {
				a, err := play(graph.Of(int32(member)))
				require.NoError(t, err)
				f, err := graph.Float(a)
				require.NoError(t, err)
				sum, squares = sum+f, squares+f*f
			}
			n := float64(members)
			require.InEpsilon(t, sum/n, of(t, m, run.EvalReturn), 1e-5)
			require.Equal(t, of(t, m, run.EvalReturn), e.newest.Mean)
			require.Equal(t, "eval return "+e.newest.String(), e.Ending(m))
			require.EqualValues(t, members*x.episodes, of(t, m, run.EvalEpisodes))
			require.Zero(t, of(t, m, run.EvalFailed))
			if x.episodes == 1 {
				deviation := math.Sqrt((squares/n - sum*sum/n/n) * n / (n - 1))
				require.InEpsilon(t, deviation/math.Sqrt(n), of(t, m, run.EvalError), 1e-3)
			}

			c.EvalEnvs = 0
			without := start(t, &xlabridge.Reference{}, c)
			for _, want := range steps(t, without, 4) {
				_, ok := want.Get(run.EvalReturn)
				require.False(t, ok)
			}
			sameBytes(t, bytesOf(t, without), bytesOf(t, e), "the state")
		})
	}
}

// A run that ends between evaluations ends with the newest one, which is compared with the target. A run that goes on
// and ends before its next evaluation compares with nothing.
func TestEndingHasTheNewestEvaluation(t *testing.T) {
	c := DefaultConfig()
	c.Env, c.Policy, c.Population, c.Steps, c.Target, c.EvalEnvs = "Pendulum-v1", "linear", 4, 5, "-1", 2
	e := start(t, &xlabridge.Reference{}, c)
	all := steps(t, e, 7)
	require.Equal(t, of(t, all[3], run.EvalReturn), e.newest.Mean)
	require.Equal(t, fmt.Sprintf("eval return %v in generation 4, the target is -1", e.newest.EvalScore),
		e.Ending(all[6]))
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, e.Restore(t.Context(), s))
	require.Equal(t, "mean "+generation.Number(of(t, all[6], "mean_fitness")), e.Ending(all[6]))
	next := steps(t, e, 1)[0]
	require.Contains(t, e.Ending(next), fmt.Sprintf("eval return %v, the target is", e.newest.EvalScore))
	require.EqualValues(t, 8, e.newest.Step)
}

// The same compiled: evaluations, in tiles of their own, change no byte of the state, nor any number of a search.
func TestEvaluationsChangeNoByte(t *testing.T) {
	long.Only(t) // in short, the bytes of compiled runs with evaluations are those of TestGolden in cmd/xlarun
	b := xlatest.Open(t, 1)
	c := DefaultConfig()
	c.Env, c.Policy, c.HallOfFame = "Pendulum-v1", "linear", "0"
	c.Population, c.Tile, c.Steps, c.EvalEnvs = 10, 4, 12, 5
	with := start(t, b, c)
	c.EvalEnvs = 0
	without := start(t, b, c)
	got, want := steps(t, with, 4), steps(t, without, 4)
	for i, m := range got {
		_, ok := m.Get(run.EvalReturn)
		require.Equal(t, i != 2, ok, "generation %d", i+1)
		m.Values = slices.DeleteFunc(m.Values, func(v run.Value) bool { return strings.HasPrefix(v.Name, "eval_") })
		require.Equal(t, want[i].Values, m.Values, "generation %d", i+1)
	}
	sameBytes(t, bytesOf(t, without), bytesOf(t, with), "the state")
}
