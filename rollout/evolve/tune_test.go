package evolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout"
	"xlarun/xlabridge"
)

// tunerWith is a tuner over the default experiment whose measurements (of one tile) are a function.
func tunerWith(t *testing.T, measure func(rollout.Plan) (float64, error)) *tuner {
	t.Helper()
	p, err := DefaultConfig().plan(machine{devices: 1, cpu: true})
	require.NoError(t, err)
	return &tuner{plan: p, deadline: time.Now().Add(time.Hour), stages: quickStages, measure: measure}
}

// The tuner walks to the best neighbour, stage by stage, and keeps to the first among near ones.
func TestTunerTakesTheFastest(t *testing.T) {
	tu := tunerWith(t, func(p rollout.Plan) (float64, error) {
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
	best, err := tu.run()
	require.NoError(t, err)
	require.Equal(t, rollout.Plan{Devices: 1, Tile: 64, LanesLast: true, Unroll: 1, VectorWidth: 512}, best)
	require.Equal(t, "tiles of 128, lanes first, unroll 1, 512-bit vectors", tu.tried[0].Plan)
	seen := map[string]bool{}
	for _, p := range tu.tried {
		require.False(t, seen[p.Plan], p.Plan)
		seen[p.Plan] = true
	}
}

// A machine of many cores plays more tiles at a time, and what counts is when the last of them ends.
func TestTunerKeepsAllCoresBusy(t *testing.T) {
	for cores, want := range map[int]int{1: 128, 2: 128, 4: 64, 8: 32, 16: 16, 64: 8} {
		tu := tunerWith(t, func(p rollout.Plan) (float64, error) { return float64(34 + p.Tile), nil })
		tu.plan.on.cores = cores
		best, err := tu.run()
		require.NoError(t, err)
		require.Equal(t, want, best.Tile, "%d cores", cores)
	}
}

// A candidate that takes too long is not waited for: what was best until then counts.
func TestTunerKeepsItsBudget(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	calls := 0
	tu := tunerWith(t, nil)
	tu.measure = func(p rollout.Plan) (float64, error) {
		if calls++; calls == 1 {
			tu.deadline = time.Now()
			return 1, nil
		}
		<-block
		return 0, nil
	}
	best, err := tu.run()
	require.NoError(t, err)
	require.Equal(t, tu.plan.layout, best)
}

// Quick measures and stores; the next start reads, on any number of devices; a damaged file is a miss with a reason, and
// repaired; off does not look.
func TestPlansAreStored(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.Devices, c.Tune = 64, 10, "linear", 1, TuneQuick
	dir := filepath.Join(t.TempDir(), "programs")
	client := func(devices int) *xlabridge.Client {
		b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, CacheDir: dir})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	one, two := client(1), client(2)
	p, err := c.plan(machine{devices: 1, cpu: true})
	require.NoError(t, err)
	store := p.storeOf(one)
	require.Equal(t, store, p.storeOf(two))
	layout := rollout.Plan{Tile: 32, LanesLast: true, Unroll: 2, VectorWidth: 512}
	put := func(layout rollout.Plan) {
		t.Helper()
		s := storedPlan{TuneQuick, layout}
		require.NoError(t, store.Put(s, s.words(), 1))
	}
	put(layout)

	got := func(b xlabridge.Backend, tune string) Profile {
		c.Tune = tune
		return start(t, b, c).Profile()
	}
	for _, b := range []*xlabridge.Client{one, two} {
		for _, tune := range []string{TuneAuto, TuneQuick} {
			require.Equal(t, PlanStored, got(b, tune).PlanSource)
			require.Equal(t, "1 device, tiles of 32, lanes last, unroll 2, 512-bit vectors", got(b, tune).Plan)
		}
	}
	require.Equal(t, PlanStatic, got(one, TuneOff).PlanSource)
	c.Tile = 16
	require.Equal(t, PlanGiven, got(one, TuneQuick).PlanSource)
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
			p := got(one, TuneAuto)
			require.Equal(t, PlanStatic, p.PlanSource)
			require.Contains(t, p.PlanReason, "damaged")
		})
	}
	// A possible file with an impossible plan.
	put(rollout.Plan{Tile: 7, Unroll: 1})
	require.Equal(t, PlanStatic, got(one, TuneAuto).PlanSource)
	c.Tune = TuneQuick
	chosen, err := Tune(one, c)
	require.NoError(t, err)
	require.Contains(t, []string{PlanTuned, PlanStatic}, chosen.Source) // static: a machine too slow to compile two programs
	require.LessOrEqual(t, chosen.Seconds, QuickBudget.Seconds()+1)
	if chosen.Source == PlanTuned {
		require.GreaterOrEqual(t, len(chosen.Tried), 2)
		for _, b := range []*xlabridge.Client{one, two} {
			p := got(b, TuneAuto)
			require.Equal(t, PlanStored, p.PlanSource)
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
	require.False(t, kept.NoiseRedrawn)
	require.InEpsilon(t, float64(kept.PeakMemoryBytes), float64(kept.PlannedBytes), .5)
	c.Memory = kept.PeakMemoryBytes * 3 / 4
	lean := start(t, b, c)
	require.True(t, lean.Profile().NoiseRedrawn)
	require.LessOrEqual(t, lean.Profile().PeakMemoryBytes, c.Memory)
	require.Equal(t, 32, lean.Profile().Tile)
	c.Memory = 1 << 20
	_, err := New(b, c)
	require.ErrorContains(t, err, "and 1.0 MiB is allowed; ")

	// The largest that fits, fits.
	c.Tile, c.Memory = 0, 8<<20
	c.Population = 1 << 16
	p, err := c.plan(machine{devices: 1})
	require.ErrorContains(t, err, "the largest population that fits is ")
	c.Population = p.largest(c.Memory)
	require.Greater(t, c.Population, 1000)
	require.NoError(t, c.Check())
}
