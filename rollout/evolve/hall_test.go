package evolve

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// The hall of fame of a run holds the best of its generations, equal on two devices and after a restore. The first
// member is the best ever. 1: a strategy of vectors; 2: one of trees; 3: regenerated draws.
func TestHallOfARun(t *testing.T) {
	for number, strategy := range map[int]string{1: "openes", 2: "randomsearch", 3: "openes"} {
		c := DefaultConfig()
		c.Population, c.Steps, c.Policy, c.Strategy, c.HallOfFame, c.Target = 4, 60, "linear", strategy, "3", "0"
		x, err := c.setup(plan.Machine{Devices: 1})
		require.NoError(t, err)
		x.Regenerate = number == 3
		e, err := c.build(&xlabridge.Reference{}, x, plan.Choice{})
		require.NoError(t, err)
		var best []float64
		for range 7 {
			m, err := e.Step(t.Context())
			require.NoError(t, err)
			best = append(best, of(t, m, "best_fitness"))
			s, err := e.Snapshot(t.Context())
			require.NoError(t, err)
			hall, err := e.HallEntries(s)
			require.NoError(t, err)
			sorted := slices.Clone(best)
			slices.SortFunc(sorted, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
			for i, x := range hall {
				require.Equal(t, best[x.Step-1], x.Fitness, "case %d", number)
				require.Equal(t, sorted[i], x.Fitness, "case %d", number)
			}
			require.Len(t, hall, min(3, len(best)), "case %d", number)
			candidates, err := e.Candidates(s)
			require.NoError(t, err)
			for i, a := range graph.Leaves(candidates[1].Params) {
				require.Equal(t, a.String(), graph.Leaves(hall[0].Params)[i].String())
			}
		}
	}
}

// A snapshot of a version without a hall of fame can be restored, with an empty one.
func TestRestoreWithoutAHall(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.HallOfFame = 4, 5, "linear", "0"
	old := start(t, &xlabridge.Reference{}, c)
	steps(t, old, 2)
	s, err := old.Snapshot(t.Context())
	require.NoError(t, err)
	require.NotContains(t, s.Arrays, "hall.fitness")
	c.HallOfFame = "auto"
	e := start(t, &xlabridge.Reference{}, c)
	require.NoError(t, e.Restore(t.Context(), s))
	_, err = e.Candidates(s)
	require.NoError(t, err)
	hall, err := e.HallEntries(s)
	require.NoError(t, err)
	require.Empty(t, hall)
	steps(t, e, 1)
	s, err = e.Snapshot(t.Context())
	require.NoError(t, err)
	hall, err = e.HallEntries(s)
	require.NoError(t, err)
	require.Len(t, hall, 1)
	require.Equal(t, int64(3), hall[0].Step)
}

// Patience ends a run after a number of generations without improvement, as in a loop over the rows, and in the same
// generation after a restore in any generation.
func TestPatience(t *testing.T) {
	run := func(evalEnvs, patience int, least float64, restoreAt int64) (last int64, best []float64) {
		c := DefaultConfig()
		c.Population, c.Steps, c.Policy, c.Patience, c.MinImprovement, c.Target = 4, 30, "linear", patience, least, "0"
		c.EvalEnvs, c.EvalEvery = evalEnvs, 1
		e := start(t, &xlabridge.Reference{}, c)
		for {
			m, err := e.Step(t.Context())
			require.NoError(t, err)
			best = append(best, c.Progress(m))
			if m.Stalled || m.Step == 40 {
				require.False(t, m.Done)
				want := map[bool]string{true: "no better best than", false: "mean"}
				if evalEnvs > 0 {
					want = map[bool]string{true: "no better evaluation than", false: "eval return"}
				}
				require.Contains(t, e.Ending(m), want[m.Stalled])
				return m.Step, best
			}
			if m.Step == restoreAt {
				s, err := e.Snapshot(t.Context())
				require.NoError(t, err)
				e = start(t, &xlabridge.Reference{}, c)
				require.NoError(t, e.Restore(t.Context(), s))
			}
		}
	}
	for _, c := range []struct {
		evalEnvs, patience int
		least              float64
	}{{4, 1, 0}, {4, 3, 0}, {4, 5, 2}, {4, 4, 1e6}, {0, 3, 0}, {0, 5, 2}} {
		got, best := run(c.evalEnvs, c.patience, c.least, 0)
		high, since, want := math.Inf(-1), 0, int64(0)
		for g, f := range best {
			if f > high+c.least {
				high, since = f, g
			}
			if g-since >= c.patience && want == 0 {
				want = int64(g + 1)
			}
		}
		require.Equal(t, want, got, "%v", c)
		for _, at := range []int64{1, got - 1} {
			again, _ := run(c.evalEnvs, c.patience, c.least, at)
			require.Equal(t, got, again, "%v, restored at %d", c, at)
		}
	}
	c := DefaultConfig()
	c.MinImprovement = 1
	_, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.ErrorContains(t, err, "min-improvement: got 1, want --patience other than 0 beside it")
}

// A run without patience can be resumed with it. Without evaluations the best so far counts.
func TestPatienceFromNowOn(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.Target, c.EvalEnvs = 4, 60, "linear", "0", 0
	e := start(t, &xlabridge.Reference{}, c)
	steps(t, e, 6)
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	require.NotContains(t, s.Arrays, patienceBest)
	generation, err := graph.Float(s.Arrays["best.generation"])
	require.NoError(t, err)
	c.Patience = 2
	patient := start(t, &xlabridge.Reference{}, c)
	require.NoError(t, patient.Restore(t.Context(), s))
	require.Equal(t, int64(generation)+1, featureOf[*patience](patient).Since)
}
