package generation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// tunerWith returns a tuner for the default experiment on a number of cores. Measurements of one tile are a function.
func tunerWith(t *testing.T, cores int,
	measure func(plan.Plan) (float64, error)) (*Setup, *plan.Tuner[plan.Plan]) {
	t.Helper()
	c := DefaultSearch()
	x, err := c.NewSetup(Options{}, plan.Machine{Devices: 1, CPU: true, Cores: cores})
	require.NoError(t, err)
	tu := x.Tuner(&xlabridge.Reference{}, false)
	tu.Deadline, tu.Words = time.Now().Add(time.Hour), plan.Plan.Layout
	tu.Measure = func(p plan.Plan) (float64, error) {
		seconds, err := measure(p)
		return x.onAllCores(p, seconds), err
	}
	return x, tu
}

// The tuner moves to the best neighbor, stage by stage, and keeps the first of nearly equal ones.
func TestTunerTakesTheFastest(t *testing.T) {
	x, tu := tunerWith(t, 0, func(p plan.Plan) (float64, error) {
		seconds := float64(p.Tile)
		if p.BatchLast {
			seconds /= 2
		}
		if p.Tile == 64 {
			seconds *= .9
		}
		if p.Unroll == 2 {
			seconds *= .99 // no gain worth a change
		}
		return seconds, nil
	})
	best, tried, err := tu.Run(t.Context(), x.Layout)
	require.NoError(t, err)
	want := plan.Plan{Devices: 1, Tile: 64, BatchLast: true, Unroll: 1, EpisodeBatch: 1, VectorWidth: 512}
	require.Equal(t, want, best)
	require.Equal(t, plan.Plan{Tile: 32, VectorWidth: 512}.Layout(), tried[0].Plan)
	seen := map[string]bool{}
	for _, p := range tried {
		require.False(t, seen[p.Plan], p.Plan)
		seen[p.Plan] = true
	}
}

// A machine with many cores plays more tiles at a time. The time of the last one counts.
func TestTunerKeepsAllCoresBusy(t *testing.T) {
	for cores, want := range map[int]int{1: 128, 2: 128, 4: 64, 8: 32, 16: 16, 64: 8} {
		x, tu := tunerWith(t, cores, func(p plan.Plan) (float64, error) { return float64(34 + p.Tile), nil })
		best, _, err := tu.Run(t.Context(), x.Layout)
		require.NoError(t, err)
		require.Equal(t, want, best.Tile, "%d cores", cores)
	}
}

// On an accelerator one, two and four steps of an iteration are measured, whether the number of steps is even
// or odd, and whatever the default is.
func TestTunerOnAnAcceleratorTriesUnrolls(t *testing.T) {
	for steps, unroll := range map[int]int{200: 2, 199: 1} {
		c := DefaultSearch()
		c.Steps = steps
		x, err := c.NewSetup(Options{}, plan.Machine{Devices: 1, Accelerator: true})
		require.NoError(t, err)
		require.Equal(t, unroll, x.Layout.Unroll)
		measured := map[int]bool{}
		tu := x.Tuner(&xlabridge.Reference{}, false)
		tu.Deadline, tu.Words = time.Now().Add(time.Hour), plan.Plan.Layout
		tu.Measure = func(p plan.Plan) (float64, error) {
			measured[p.Unroll] = true
			return 1 / float64(p.Unroll), nil
		}
		best, _, err := tu.Run(t.Context(), x.Layout)
		require.NoError(t, err)
		require.Equal(t, map[int]bool{1: true, 2: true, 4: true}, measured, steps)
		require.Equal(t, 4, best.Unroll)
	}
}
