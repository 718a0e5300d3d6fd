package qd

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// An evaluation has the returns of the elite with the highest fitness before the generation, in a loop over episodes
// with the keys of members behind the batch. A run without evaluations has the same archive, to the byte.
func TestEvaluationIsOfTheBestElite(t *testing.T) {
	c := small()
	c.EvalEnvs, c.EvalEvery = 5, 4
	r := start(t, &xlabridge.Reference{}, c)
	first, _ := advance(t, r, 3)
	for i, has := range []bool{false, true, false} { // before the first generation there is no elite
		_, ok := first[i].Get(run.EvalReturn)
		require.Equal(t, has, ok, "generation %d", i+1)
	}
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	all, archive := advance(t, r, 1)

	saved, err := r.Candidates(s)
	require.NoError(t, err)
	state, err := r.state(s)
	require.NoError(t, err)
	rollout, err := c.Rollout()
	require.NoError(t, err)
	play := xlabridge.Jit(&xlabridge.Reference{}, func(member *graph.Array) *graph.Array {
		generation := random.SplitN(random.FoldIn(state.Key, 3), 3)[0]
		_, episodes := random.Split2(random.FoldIn(generation, member.Add(c.Batch)))
		return rollout.Member(saved[0].Params, episodes).Return
	})
	mean := 0.
	for member := range c.EvalEnvs {
		a, err := play(graph.Of(int32(member)))
		require.NoError(t, err)
		f, err := graph.Float(a)
		require.NoError(t, err)
		mean += f / float64(c.EvalEnvs)
	}
	require.InEpsilon(t, mean, all[0].Number(run.EvalReturn), 1e-6)
	require.EqualValues(t, c.EvalEnvs, all[0].Number(run.EvalEpisodes))
	require.Less(t, all[0].Number(run.EnvSteps), all[0].Number(run.ComputedSteps), "poles that have fallen")
	require.Regexp(t, `, best \S+; eval return \S+ ± \S+$`, r.Ending(all[0]))
	require.Contains(t, r.Ending(all[0]), fmt.Sprint("; eval return ", r.newest.EvalScore))

	c.EvalEnvs = 0
	without := start(t, &xlabridge.Reference{}, c)
	rows, same := advance(t, without, 4)
	require.Equal(t, same, archive)
	require.Equal(t, rows[3].Values, all[0].Values[:len(rows[3].Values)])
	best := fmt.Sprintf(", best %.4g", rows[3].Number("best_fitness")) // which decides, and had no target beside it
	without.target = math.NaN()
	ending := without.Ending(rows[3])
	require.True(t, strings.HasSuffix(ending, best), ending)
	without.target = 400
	require.Equal(t, ending+", the target is 400", without.Ending(rows[3]))
	rows[3].Done = true
	require.Equal(t, ending+" of the 400 wanted", without.Ending(rows[3]))
	for envs, label := range map[int]string{0: "best", 5: "eval"} {
		c.EvalEnvs, c.Target = envs, "400"
		var labels []string
		for _, row := range c.Board() {
			if slices.ContainsFunc(row.Parts, func(p run.Part) bool { return p.Behind == ", target 400" }) {
				labels = append(labels, row.Label)
			}
		}
		require.Equal(t, []string{label}, labels)
	}
}

// After its elites have played new episodes, the map of a run shows the cells that they have by their means. It showed
// those that lucky members had filled.
func TestMapAtTheEndIsOfTheMeans(t *testing.T) {
	c := small()
	c.Env, c.Descriptor, c.Archive, c.Steps, c.EvalEpisodes, c.EvalEnvs, c.EvalEvery = "Pendulum-v1", "observations",
		"grid:8", 10, 3, 0, 10
	c.Parted = c.Parted.With("descriptor.elements", []int{0, 1}).With("descriptor.bounds", []float64{-1, 1, -1, 1})
	r := start(t, &xlabridge.Reference{}, c)
	advance(t, r, 3)
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	shown := func() float64 {
		files, err := r.Files(s, true)
		require.NoError(t, err)
		filled := 0
		for _, row := range files[1].JSON.(*mapFile).Rows {
			for _, x := range row {
				if x != nil {
					filled++
				}
			}
		}
		return float64(filled) / mapSide / mapSide
	}
	before := shown()
	_, err = r.Reevaluate(t.Context(), s, func(float64) {})
	require.NoError(t, err)
	require.InDelta(t, r.correction.metrics["coverage"], shown(), 1e-9)
	require.Less(t, shown(), before)
}
