package evolve

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// The hall of fame against a list that a loop keeps: the highest fitness, each genome once.
func TestHall(t *testing.T) {
	inf := math.Inf(-1)
	for _, c := range []struct {
		number  int // 1: it fills; 2: duplicates, higher and lower; 3: equal fitness; 4: generations without a number; 5: one place; 6: what lies in a free place is nobody's
		places  int
		fitness []float64
		genome  []float32
	}{
		{1, 3, []float64{5, 1, 3, 2, 9, 4}, []float32{1, 2, 3, 4, 5, 6}},
		{2, 3, []float64{5, 7, 6, 2, 9, 8}, []float32{1, 1, 1, 2, 2, 3}},
		{3, 2, []float64{5, 5, 5, 6}, []float32{1, 2, 3, 4}},
		{4, 2, []float64{inf, 3, inf, inf, 1}, []float32{7, 8, 9, 9, 6}},
		{5, 1, []float64{-3, -5, -2}, []float32{1, 2, 3}},
		{6, 3, []float64{2, 1}, []float32{0, 0}},
	} {
		type one struct{ fitness, genome, generation float64 }
		var want []one
		h := newHall(Best{Genome: graph.Zeros(graph.ShapeOf(graph.Float32, 2))}, c.places)
		for g, f := range c.fitness {
			now := one{f, float64(c.genome[g]), float64(g)}
			at := slices.IndexFunc(want, func(o one) bool { return o.genome == now.genome })
			switch {
			case math.IsInf(f, -1):
			case at >= 0 && f > want[at].fitness:
				want[at] = now
			case at < 0 && len(want) < c.places:
				want = append(want, now)
			case at < 0:
				low := 0
				for i, o := range want {
					if o.fitness < want[low].fitness {
						low = i
					}
				}
				if f > want[low].fitness {
					want[low] = now
				}
			}
			h = h.with(Best{Genome: graph.Float32s([]float32{c.genome[g], 1}), Fitness: graph.Of(float32(f)), Generation: graph.Of(int32(g))})
		}
		var got []one
		fitness, err := graph.Floats(h.Fitness)
		require.NoError(t, err)
		generation, err := graph.Floats(h.Generation)
		require.NoError(t, err)
		genomes, err := graph.Floats(h.Genomes.(*graph.Array))
		require.NoError(t, err)
		for i, f := range fitness {
			if !math.IsInf(f, -1) {
				got = append(got, one{f, genomes[2*i], generation[i]})
			}
		}
		require.ElementsMatch(t, want, got, "case %d", c.number)
	}
	require.Nil(t, newHall(Best{Genome: graph.Scalar(0)}, 0))
	require.Nil(t, (*Hall)(nil).with(Best{}))
}

// The hall of fame of a run is the best of its generations, the same on two devices and after a restore; the first in it is the best
// ever. 1: a strategy of vectors; 2: one of trees; 3: draws made again.
func TestHallOfARun(t *testing.T) {
	for number, strategy := range map[int]string{1: "openes", 2: "randomsearch", 3: "openes"} {
		c := DefaultConfig()
		c.Population, c.Steps, c.Policy, c.Strategy, c.HallOfFame, c.Target = 4, 60, "linear", strategy, "3", "0"
		x, err := c.experiment(plan.Machine{Devices: 1})
		require.NoError(t, err)
		x.redraw = number == 3
		e, err := build(&xlabridge.Reference{}, x, plan.Choice{})
		require.NoError(t, err)
		var best []float64
		for range 7 {
			m, err := e.Step()
			require.NoError(t, err)
			f, _ := m.Get("best_fitness")
			best = append(best, f)
			s, err := e.Snapshot()
			require.NoError(t, err)
			fame, err := e.Fame(s)
			require.NoError(t, err)
			sorted := slices.Clone(best)
			slices.SortFunc(sorted, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
			for i, x := range fame {
				require.Equal(t, best[x.Step-1], x.Fitness, "case %d", number)
				require.Equal(t, sorted[i], x.Fitness, "case %d", number)
			}
			require.Len(t, fame, min(3, len(best)), "case %d", number)
			candidates, err := e.Candidates(s)
			require.NoError(t, err)
			for i, a := range graph.Leaves(candidates[1].Params) {
				require.Equal(t, a.String(), graph.Leaves(fame[0].Params)[i].String())
			}
		}
	}
}

// A snapshot of a version that knew no hall of fame is gone on from, with an empty one.
func TestRestoreWithoutAHall(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.HallOfFame = 4, 5, "linear", "0"
	old := start(t, &xlabridge.Reference{}, c)
	steps(t, old, 2)
	s, err := old.Snapshot()
	require.NoError(t, err)
	require.NotContains(t, s.Arrays, "hall.fitness")
	c.HallOfFame = auto
	e := start(t, &xlabridge.Reference{}, c)
	require.NoError(t, e.Restore(s))
	_, err = e.Candidates(s)
	require.NoError(t, err)
	fame, err := e.Fame(s)
	require.NoError(t, err)
	require.Empty(t, fame)
	steps(t, e, 1)
	s, err = e.Snapshot()
	require.NoError(t, err)
	fame, err = e.Fame(s)
	require.NoError(t, err)
	require.Len(t, fame, 1)
	require.Equal(t, int64(3), fame[0].Step)
}

// What is no number of places is refused; large networks have no hall unless it is asked for.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text   string
		params int
		want   int // -1: refused
	}{{"auto", 100, 4}, {"auto", 1 << 20, 0}, {"", 100, 4}, {"0", 1, 0}, {"7", 1 << 20, 7}, {"1000", 1, 1000}, {"1001", 1, -1}, {"-1", 1, -1}, {"many", 1, -1}, {"1.5", 1, -1}} {
		config := DefaultConfig()
		config.HallOfFame = c.text
		n, err := config.places(c.params)
		if c.want < 0 {
			require.ErrorContains(t, err, "want a number of members from 0 to 1000, or auto", c.text)
			require.ErrorAs(t, err, new(*settings.Error))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, n, c.text)
	}
}

// Patience ends a run after so many generations without a better best: against a loop over the rows; after a restore in any generation
// it ends in the same one.
func TestPatience(t *testing.T) {
	run := func(patience int, least float64, restoreAt int64) (last int64, best []float64) {
		c := DefaultConfig()
		c.Population, c.Steps, c.Policy, c.Patience, c.MinImprovement, c.Target = 4, 60, "linear", patience, least, "0"
		e := start(t, &xlabridge.Reference{}, c)
		for {
			m, err := e.Step()
			require.NoError(t, err)
			f, _ := m.Get("best_fitness")
			best = append(best, f)
			if m.Stalled || m.Step == 40 {
				require.False(t, m.Done)
				require.Contains(t, e.Ending(m), map[bool]string{true: "no better best than", false: "mean"}[m.Stalled])
				return m.Step, best
			}
			if m.Step == restoreAt {
				s, err := e.Snapshot()
				require.NoError(t, err)
				e = start(t, &xlabridge.Reference{}, c)
				require.NoError(t, e.Restore(s))
			}
		}
	}
	for _, c := range []struct {
		patience int
		least    float64
	}{{1, 0}, {3, 0}, {5, 2}, {4, 1e6}} {
		got, best := run(c.patience, c.least, 0)
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
			again, _ := run(c.patience, c.least, at)
			require.Equal(t, got, again, "%v, restored at %d", c, at)
		}
	}
	c := DefaultConfig()
	c.MinImprovement = 1
	_, err := New(&xlabridge.Reference{}, c)
	require.ErrorContains(t, err, "min-improvement: got 1, want --patience beside it")
}

// A run that had no patience is given some where it goes on: what counts is the best so far.
func TestPatienceFromNowOn(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.Target = 4, 60, "linear", "0"
	e := start(t, &xlabridge.Reference{}, c)
	steps(t, e, 6)
	s, err := e.Snapshot()
	require.NoError(t, err)
	require.NotContains(t, s.Arrays, patienceBest)
	generation, err := graph.Float(s.Arrays["best.generation"])
	require.NoError(t, err)
	c.Patience = 2
	patient := start(t, &xlabridge.Reference{}, c)
	require.NoError(t, patient.Restore(s))
	require.Equal(t, int64(generation)+1, patient.patience.since)
	var _ run.Famous = patient
}
