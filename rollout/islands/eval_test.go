package islands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// All islands together evaluate the mean that the run would have saved before the generation, each on a part of the
// episodes, with keys of its own.
func TestIslandsEvaluateTheBestIsland(t *testing.T) {
	c := smallIslands("openes")
	c.EvalEnvs, c.EvalEvery, c.Steps = 11, 4, 20
	a, err := NewArchipelago(t.Context(), &xlabridge.Reference{}, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	for range 3 {
		m, err := a.Step(t.Context())
		require.NoError(t, err)
		_, ok := m.Get(run.EvalReturn)
		require.Equal(t, m.Step != 3, ok, "generation %d", m.Step)
	}
	s, err := a.Snapshot(t.Context())
	require.NoError(t, err)
	m, err := a.Step(t.Context())
	require.NoError(t, err)

	saved, err := a.Candidates(s)
	require.NoError(t, err)
	state, err := a.Unflatten(s)
	require.NoError(t, err)
	r, err := c.Rollout()
	require.NoError(t, err)
	keys := state.(State).Lanes.Key.Data
	play := xlabridge.Jit2(&xlabridge.Reference{}, func(island, member *graph.Array) *graph.Array {
		own := random.FoldIn(random.Key{Data: graph.DynamicIndex(keys, island, 0)}, 1<<31-1)
		return r.Member(saved[0].Params, random.FoldIn(random.FoldIn(own, 3), member)).Return
	})
	sum, each := 0., 2 // of 11 on 6 islands
	for island := range c.Islands {
		for member := range each {
			x, err := play(graph.Of(int32(island)), graph.Of(int32(member)))
			require.NoError(t, err)
			f, err := graph.Float(x)
			require.NoError(t, err)
			sum += f
		}
	}
	require.InEpsilon(t, sum/float64(each*c.Islands), m.Number(run.EvalReturn), 1e-6)
	require.EqualValues(t, each*c.Islands, m.Number(run.EvalEpisodes))
	require.Less(t, m.Number(run.EnvSteps), m.Number(run.ComputedSteps))
	newest := a.newest.String()
	require.Equal(t, m.Number(run.EvalReturn), a.newest.Mean)
	require.Contains(t, a.Ending(m), "eval return "+newest+";")
	m, err = a.Step(t.Context())
	require.NoError(t, err)
	require.Contains(t, a.Ending(m), "eval return "+newest+" in generation 4;")
}
