package evolve

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// A search has converged if fitness is the same over a window of generations, and over the last one's members.
func TestSearchEnds(t *testing.T) {
	inf := math.Inf(1)
	const members, params = 30, 2 // a window of 12
	steady := func(best, worst float64, n int) (all [][2]float64) {
		for range n {
			all = append(all, [2]float64{best, worst})
		}
		return all
	}
	for _, c := range []struct {
		number int
		what   string
		seen   [][2]float64 // best and worst
		ends   bool
	}{
		{1, "too few generations", steady(1, 1, 11), false},
		{2, "all the same", steady(1, 1, 12), true},
		{3, "the last one's members differ", append(steady(1, 1, 11), [2]float64{1, 0}), false},
		{4, "earlier members may differ", append(steady(1, 0, 11), [2]float64{1, 1}), true},
		{5, "the best moved within the window", append(append(steady(1, 1, 3), [2]float64{2, 2}), steady(1, 1, 11)...),
			false},
		{6, "the best moved before the window", append([][2]float64{{2, 2}}, steady(1, 1, 12)...), true},
		{7, "float32's rounding of large numbers", append(steady(1e6, 1e6, 11), [2]float64{1e6 + .0625, 1e6}), true},
		{8, "more than that", append(steady(1e6, 1e6, 11), [2]float64{1e6 + 1, 1e6}), false},
		{9, "all members failed", steady(-inf, -inf, 12), true},
		{10, "some generations failed", append(steady(-inf, -inf, 11), [2]float64{1, 1}), false},
	} {
		r := restarts{population: members}
		require.Equal(t, 12, r.window(params))
		ends := false
		for _, s := range c.seen {
			ends = r.observe(s[0], s[1], params)
		}
		require.Equal(t, c.ends, ends, "case %d: %s", c.number, c.what)
		require.LessOrEqual(t, len(r.bests), 12)
	}
}

// IPOP doubles the population up to the limit. BIPOP takes the kind of search that has evaluated less.
func TestNextSearch(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Restarts, c.MaxPopulation = 10, RestartsIPOP, 70
	r := restarts{population: 10, sigma: 1}
	var sizes []int
	for i := range 5 {
		r.next(c, 4, int64(100*(i+1)))
		sizes = append(sizes, r.population)
	}
	require.Equal(t, []int{20, 40, 68, 68, 68}, sizes, "whole groups of 4")
	require.Equal(t, int64(100*(10+20+40+68+68)), r.spent)
	require.NotEqual(t, c.Seed, r.seed(c))

	c.Restarts, c.MaxPopulation = RestartsBIPOP, 0
	r = restarts{population: 10, sigma: 1}
	step, larges := int64(0), 0
	seeds := map[int64]bool{r.seed(c): true}
	for range 40 {
		step += 50
		r.next(c, 2, step)
		require.False(t, seeds[r.seed(c)], "each search has a seed of its own")
		seeds[r.seed(c)] = true
		require.Equal(t, r.small, r.smallSpent < r.largeSpent)
		if r.small {
			require.LessOrEqual(t, r.population, max(10, 10<<r.doublings/2))
			require.GreaterOrEqual(t, r.population, 10)
			require.True(t, r.sigma <= 1 && r.sigma >= .01, "%g", r.sigma)
			continue
		}
		larges++
		require.Equal(t, min(160, 10<<larges), r.population)
		require.Equal(t, 1., r.sigma)
	}
	require.Greater(t, larges, 3)
	require.Less(t, larges, 30)
}

// A small search of BIPOP has a part of the strategy's sigma, as the config gives it or by default.
func TestNextSearchHasItsSigma(t *testing.T) {
	c := DefaultConfig()
	c.Strategy = "cmaes"
	for _, sigma := range []float64{1, 4} {
		if sigma != 1 {
			c = c.With("strategy.sigma", sigma)
		}
		next, err := (&restarts{population: 10, sigma: .5}).search(c)
		require.NoError(t, err)
		require.Equal(t, sigma/2, next.Parted["strategy.sigma"])
	}
}

// The state of restarts survives a snapshot.
func TestRestartsInSnapshots(t *testing.T) {
	for _, r := range []restarts{
		{population: 4, sigma: 1},
		{population: 1 << 24, count: 3, doublings: 2, small: true, sigma: .0123, startStep: 1 << 40, spent: 1 << 50,
			largeSpent: 7, smallSpent: 9, bests: []float64{1, math.Inf(-1), .1}},
	} {
		s := run.Snapshot{Step: 5, Arrays: r.arrays()}
		s.Arrays["generation"], s.Arrays["hall.fitness"] = graph.Of(int32(5)), graph.Scalar(0)
		got, err := readRestarts(s)
		require.NoError(t, err)
		if len(got.bests) == 0 {
			got.bests = nil
		}
		require.Equal(t, r, got)
		rest := (&search{others: []string{restartsPrefix}}).ownArrays(s)
		require.Len(t, rest.Arrays, 2)
		require.Equal(t, int64(5), rest.Step)
	}
	_, err := readRestarts(run.Snapshot{Arrays: map[string]*graph.Array{}})
	require.ErrorContains(t, err, "restarts.counts")
}

// flat is an experiment in which all members have the same fitness, so that each search ends after its window of 10 +
// ⌈30·9/λ⌉ generations.
func flat(restarts string) Config {
	c := DefaultConfig()
	c.Env, c.Policy, c.Steps, c.Population, c.Restarts, c.MaxPopulation = "MountainCar-v0", "linear", 2, 90, restarts,
		180
	c.Strategy, c.Tile, c.Devices, c.Target = "snes", 32, 1, "0"
	return c
}

// A run with restarts continues to the byte from any snapshot, also when the restoring run is still at its first
// search: metrics and state.
func TestRestartsResume(t *testing.T) {
	b := &xlabridge.Reference{}
	c := flat(RestartsIPOP)
	start := func() run.Run {
		r, err := c.Start(t.Context(), b)
		require.NoError(t, err)
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	whole := start()
	const last = 30 // a restart after 13 generations, another 12 later
	var metrics []run.Metrics
	snapshots := map[int]run.Snapshot{}
	for i := range last {
		m, err := whole.Step(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, i+1, m.Step)
		metrics = append(metrics, m)
		if i+1 == 12 || i+1 == 13 || i+1 == 20 {
			snapshots[i+1], err = whole.Snapshot(t.Context())
			require.NoError(t, err)
		}
	}
	get := func(m run.Metrics, name string) float64 {
		x, ok := m.Get(name)
		require.True(t, ok, name)
		return x
	}
	require.Equal(t, []float64{90, 90, 180, 180}, []float64{get(metrics[0], "population"),
		get(metrics[12], "population"), get(metrics[13], "population"), get(metrics[last-1], "population")})
	require.Equal(t, []float64{0, 0, 1, 2}, []float64{get(metrics[0], "restarts"), get(metrics[12], "restarts"),
		get(metrics[13], "restarts"), get(metrics[last-1], "restarts")})
	require.Equal(t, float64(2*(13*90+17*180)), get(metrics[last-1], "computed_steps"))
	require.Equal(t, -2., get(metrics[last-1], "best_ever"))
	end, err := whole.Snapshot(t.Context())
	require.NoError(t, err)
	for at, s := range snapshots {
		again := start()
		require.NoError(t, again.Restore(t.Context(), s))
		for i := at; i < last; i++ {
			m, err := again.Step(t.Context())
			require.NoError(t, err)
			require.Equal(t, metrics[i], m, "from %d", at)
		}
		other, err := again.Snapshot(t.Context())
		require.NoError(t, err)
		require.Len(t, other.Arrays, len(end.Arrays))
		for name, a := range end.Arrays {
			want, err := graph.Floats(a)
			require.NoError(t, err)
			got, err := graph.Floats(other.Arrays[name])
			require.NoError(t, err)
			require.Equal(t, want, got, "%s from %d", name, at)
		}
	}
	// Of a snapshot of an earlier search the members can still be read.
	members, err := whole.Describe().Members.Candidates(snapshots[12])
	require.NoError(t, err)
	require.Len(t, members, 2)
	bad := run.Snapshot{Step: 1, Arrays: map[string]*graph.Array{}}
	require.ErrorContains(t, whole.Restore(t.Context(), bad), "restarts.counts")
}

// Settings that restarts cannot have are refused before anything runs.
func TestRestartsRefused(t *testing.T) {
	for _, c := range []struct {
		number int
		change func(*Config)
		want   string
	}{
		{1, func(c *Config) { c.Restarts = "often" }, "restarts"},
		{2, func(c *Config) { c.Restarts = RestartsNone }, "max-population"},
		{3, func(c *Config) { c.MaxPopulation = 50 }, "max-population"},
		{4, func(c *Config) { c.Memory, c.MaxPopulation = 10_000_000, 1<<24 }, "one of 16777216 is refused"},
	} {
		config := flat(RestartsBIPOP)
		c.change(&config)
		require.ErrorContains(t, config.Check(plan.Machine{Devices: 1, Cores: 1, CPU: true}), c.want, "case %d",
			c.number)
	}
	config := flat(RestartsIPOP)
	require.NoError(t, config.Check(plan.Machine{Devices: 1, Cores: 1, CPU: true}))
}
