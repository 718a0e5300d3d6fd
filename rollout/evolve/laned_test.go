package evolve

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/evolve/vectorized"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// runLanes runs searches to their ends. They have the settings of c, except the seed and Numbers of each lane.
func runLanes(ctx context.Context, c *Config, b xlabridge.Backend, all []run.Lane,
	onMetrics func(lane int, m run.Metrics) (stop bool)) error {
	if len(all) == 0 {
		return nil
	}
	l, err := c.OpenLanes(ctx, b, slices.Sorted(maps.Keys(all[0].Numbers)), len(all))
	if err != nil {
		return err
	}
	return errors.Join(l.Run(ctx, all, onMetrics), l.Close())
}

// laned runs lanes and returns the metrics of each lane after each step.
func laned(t *testing.T, b xlabridge.Backend, c Config, all []run.Lane) [][]run.Metrics {
	t.Helper()
	heard := make([][]run.Metrics, len(all))
	require.NoError(t, runLanes(t.Context(), &c, b, all, func(lane int, m run.Metrics) bool {
		heard[lane] = append(heard[lane], m)
		return false
	}))
	return heard
}

// smallTrial is a short search.
func smallTrial(strategy string) Config {
	c := DefaultConfig()
	c.Policy, c.Population, c.Steps, c.Strategy, c.Target, c.Tune, c.Tile, c.Generations = "linear", 16, 25, strategy,
		"24", "off", 16, 4
	c.HallOfFame, c.EvalEvery = "0", 2
	return c
}

// To the byte, each lane equals a run of its own, ends in the same generation, and does not depend on the other lanes.
// The short form interprets openes and a strategy that keeps members; TestStudy in cmd/xlarun-study compiles lanes.
// XLARUN_LONG=1 compiles all strategies.
func TestLanesAreRuns(t *testing.T) {
	names := []string{"openes", "simplega"}
	if long.On() {
		names = strategy.Names()
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var b xlabridge.Backend = &xlabridge.Reference{}
			if long.On() {
				b = xlatest.Open(t, 2)
			}
			c, differs := smallTrial(name), "strategy.sigma"
			if name == "neat" {
				c.Policy, differs = "genome", "strategy.weight-power"
			}
			var all []run.Lane
			for i := range 5 {
				all = append(all, run.Lane{Seed: int64(i % 3), Numbers: map[string]float64{
					differs: .05 * float64(i+1)}})
			}
			together := laned(t, b, c, all)
			for _, i := range []int{0, 4} {
				own := c.With(differs, all[i].Numbers[differs])
				own.Seed, own.Devices = all[i].Seed, 1
				e := start(t, b, own)
				for _, got := range together[i] {
					want, err := e.Step(t.Context())
					require.NoError(t, err)
					require.Equal(t, want, got, "%s, lane %d", name, i)
					require.Equal(t, got.Done || got.Step == 4, got.Step == together[i][len(together[i])-1].Step)
				}
			}
			require.Equal(t, together[3:4], laned(t, b, c, all[3:4]), "alone")
		})
	}
}

// More than MaxLanes lanes take turns. A stopped lane reports nothing more.
func TestLanesTakeTurns(t *testing.T) {
	b := &xlabridge.Reference{}
	c := smallTrial("simplega")
	c.Population, c.Steps, c.Generations, c.Target, c.Tile, c.EvalEnvs = 2, 2, 2, "0", 2, 0
	all := make([]run.Lane, vectorized.MaxLanes+3)
	for i := range all {
		all[i].Seed = int64(i % 7)
	}
	heard := make([]int, len(all))
	last := make([]float64, len(all))
	require.NoError(t, runLanes(t.Context(), &c, b, all, func(lane int, m run.Metrics) bool {
		heard[lane]++
		last[lane], _ = m.Get("mean_fitness")
		return lane == 1
	}))
	for i, n := range heard {
		want := 2
		if i == 1 {
			want = 1
		} else {
			require.Equal(t, last[i%7+7], last[i], "lane %d", i)
		}
		require.Equal(t, want, n, "lane %d", i)
	}
	require.NoError(t, runLanes(t.Context(), &c, b, nil, nil))
}

// Settings that lanes cannot have are refused.
func TestLanesRefuse(t *testing.T) {
	ok := run.Lane{Numbers: map[string]float64{"strategy.sigma": .1}}
	for _, x := range []struct {
		number int
		what   string
		change func(c *Config)
		lanes  []run.Lane
		says   string
	}{
		{1, "a sigma of 0", nil, []run.Lane{ok, {Numbers: map[string]float64{"strategy.sigma": 0}}}, "strategy.sigma"},
		{2, "a sigma that is no number", nil, []run.Lane{
			ok, {Numbers: map[string]float64{"strategy.sigma": math.NaN()}}, ok}, "strategy.sigma"},
		{3, "a population of its own", nil, []run.Lane{{Numbers: map[string]float64{"pop": 4}}}, "pop"},
		{4, "other names", nil, []run.Lane{ok, {Numbers: map[string]float64{"strategy.learning-rate": 1}}},
			"search 1 has no strategy.sigma of its own"},
		{5, "no numbers", nil, []run.Lane{ok, {}}, "search 1 has 0 numbers"},
		{6, "restarts", func(c *Config) { c.Restarts = RestartsIPOP }, []run.Lane{ok}, "restarts"},
	} {
		c := smallTrial("openes")
		if x.change != nil {
			x.change(&c)
		}
		err := runLanes(t.Context(), &c, &xlabridge.Reference{}, x.lanes, nil)
		require.ErrorContains(t, err, x.says, "case %d: %s", x.number, x.what)
	}
}
