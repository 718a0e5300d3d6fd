package evolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// tunerWith is a tuner over the default experiment, on so many cores, whose measurements (of one tile) are a function.
func tunerWith(t *testing.T, cores int, measure func(plan.Plan) (float64, error)) (*experiment, *plan.Tuner[plan.Plan]) {
	t.Helper()
	c := DefaultConfig()
	x, err := c.experiment(plan.Machine{Devices: 1, CPU: true, Cores: cores})
	require.NoError(t, err)
	tu := x.tuner(&xlabridge.Reference{}, false)
	tu.Deadline, tu.Words = time.Now().Add(time.Hour), plan.Plan.Layout
	tu.Measure = func(p plan.Plan) (float64, error) {
		seconds, err := measure(p)
		return x.onAllCores(p, seconds), err
	}
	return x, tu
}

// The tuner walks to the best neighbour, stage by stage, and keeps to the first among near ones.
func TestTunerTakesTheFastest(t *testing.T) {
	x, tu := tunerWith(t, 0, func(p plan.Plan) (float64, error) {
		seconds := float64(p.Tile)
		if p.LanesLast {
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
	best, tried, err := tu.Run(x.layout)
	require.NoError(t, err)
	require.Equal(t, plan.Plan{Devices: 1, Tile: 64, LanesLast: true, Unroll: 1, VectorWidth: 512}, best)
	require.Equal(t, "tiles of 32, lanes first, unroll 1, 512-bit vectors", tried[0].Plan)
	seen := map[string]bool{}
	for _, p := range tried {
		require.False(t, seen[p.Plan], p.Plan)
		seen[p.Plan] = true
	}
}

// A machine of many cores plays more tiles at a time, and what counts is when the last of them ends.
func TestTunerKeepsAllCoresBusy(t *testing.T) {
	for cores, want := range map[int]int{1: 128, 2: 128, 4: 64, 8: 32, 16: 16, 64: 8} {
		x, tu := tunerWith(t, cores, func(p plan.Plan) (float64, error) { return float64(34 + p.Tile), nil })
		best, _, err := tu.Run(x.layout)
		require.NoError(t, err)
		require.Equal(t, want, best.Tile, "%d cores", cores)
	}
}

// Quick measures and stores; the next start reads, on any number of devices; a damaged file is a miss with a reason, and
// repaired; off does not look.
func TestPlansAreStored(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.Devices, c.Tune = 64, 10, "linear", 1, plan.TuneQuick
	dir := filepath.Join(t.TempDir(), "programs")
	client := func(devices int) *xlabridge.Client {
		b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, CacheDir: dir})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	one, two := client(1), client(2)
	store := plan.StoreOf[plan.Plan](one, c.Purpose(), planFormat)
	require.Equal(t, store, plan.StoreOf[plan.Plan](two, c.Purpose(), planFormat))
	layout := plan.Plan{Tile: 32, LanesLast: true, Unroll: 2, VectorWidth: 512}
	put := func(layout plan.Plan) {
		t.Helper()
		require.NoError(t, store.Put(plan.Stored[plan.Plan]{Tune: plan.TuneQuick, Plan: layout}, "some plan", 1))
	}
	put(layout)

	got := func(b xlabridge.Backend, tune string) run.Profile {
		c.Tune = tune
		return start(t, b, c).Profile()
	}
	for _, b := range []*xlabridge.Client{one, two} {
		for _, tune := range []string{plan.TuneAuto, plan.TuneQuick} {
			require.Equal(t, plan.Present, got(b, tune).Source)
			require.Equal(t, "1 device, tiles of 32, lanes last, unroll 2, 512-bit vectors", got(b, tune).Plan)
		}
	}
	require.Equal(t, plan.Static, got(one, plan.TuneOff).Source)
	c.Tile = 16
	require.Equal(t, plan.Given, got(one, plan.TuneQuick).Source)
	c.Tile = 0

	files, err := filepath.Glob(filepath.Join(one.Cache().Plans().Dir(), "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for name, text := range map[string]string{
		"cut": string(whole[:len(whole)/2]), "empty": "", "changed": strings.Replace(string(whole), `"tile":32`, `"tile":16`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, string(whole), text)
			require.NoError(t, os.WriteFile(files[0], []byte(text), 0o644))
			p := got(one, plan.TuneAuto)
			require.Equal(t, plan.Static, p.Source)
			require.Contains(t, p.Choice.Reason, "damaged")
		})
	}
	// A possible file with an impossible plan.
	put(plan.Plan{Tile: 7, Unroll: 1})
	require.Equal(t, plan.Static, got(one, plan.TuneAuto).Source)
	c.Tune = plan.TuneQuick
	chosen, err := c.ChoosePlan(one)
	require.NoError(t, err)
	require.Contains(t, []string{plan.Tuned, plan.Static}, chosen.Source) // static: a machine too slow to compile two programs
	require.LessOrEqual(t, chosen.Seconds, plan.QuickBudget.Seconds()+1)
	if chosen.Source == plan.Tuned {
		require.GreaterOrEqual(t, len(chosen.Tried), 2)
		for _, b := range []*xlabridge.Client{one, two} {
			p := got(b, plan.TuneAuto)
			require.Equal(t, plan.Present, p.Source)
			require.Equal(t, chosen.Plan, p.Plan)
		}
	}
}

// A program that is larger than it was thought is compiled once more, without kept noise.
func TestMemoryBudget(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Policy, c.Steps, c.Tile = 2048, "mlp:64,64", 5, 32
	b := open(t, 1)
	kept := start(t, b, c).Profile()
	require.False(t, kept.Fact("noise_redrawn").(bool))
	require.InEpsilon(t, float64(kept.PeakMemoryBytes), float64(kept.PlannedBytes), .5)
	c.Memory = settings.Bytes(kept.PeakMemoryBytes * 3 / 4)
	lean := start(t, b, c)
	require.True(t, lean.Profile().Fact("noise_redrawn").(bool))
	require.LessOrEqual(t, lean.Profile().PeakMemoryBytes, int64(c.Memory))
	require.Equal(t, 32, lean.Profile().Fact("tile"))
	c.Memory = 1 << 20
	_, err := New(b, c)
	require.ErrorContains(t, err, "and 1.0 MiB is allowed; ")
}

// Case 1: what is still measured at the deadline shares nothing with the run that goes on meanwhile, and Close waits for it.
func TestCloseWaitsForLateMeasurements(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 3, "linear"
	b := &xlabridge.Reference{}
	want := steps(t, start(t, b, c), 2)
	x, chosen, err := choose(b, c)
	require.NoError(t, err)
	tuner := x.tuner(b, false)
	release, late := make(chan struct{}), make(chan error, 1)
	measure := tuner.Measure
	tuner.Measure = func(p plan.Plan) (float64, error) {
		<-release
		_, err := measure(p)
		late <- err
		return 0, err
	}
	tuner.Deadline, tuner.Words = time.Now().Add(10*time.Millisecond), plan.Plan.Layout
	_, tried, err := tuner.Run(x.layout)
	require.NoError(t, err)
	require.Empty(t, tried)
	e, err := x.start(b, chosen)
	require.NoError(t, err)
	close(release)
	require.Equal(t, want, steps(t, e, 2))
	require.NoError(t, e.Close())
	select {
	case err := <-late:
		require.ErrorIs(t, err, plan.ErrTime)
	default:
		t.Fatal("Close did not wait")
	}
}
