package evolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Quick measures and stores a plan. The next start reads it, on any number of devices. A damaged file is a miss with a
// reason, and is replaced. Off does not read it.
func TestPlansAreStored(t *testing.T) {
	c := DefaultConfig()
	c.Env, c.Population, c.Steps, c.Policy, c.Devices, c.Tune, c.HallOfFame = "XOR-v0", 64, 4, "linear", 1,
		plan.TuneQuick, "0"
	dir := filepath.Join(t.TempDir(), "programs")
	client := func(devices int) *xlabridge.Client {
		b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, CacheDir: dir})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	one, two := client(1), client(2)
	store := plan.StoreOf[plan.Plan](one, c.Purpose(), generation.PlanFormat)
	require.Equal(t, store, plan.StoreOf[plan.Plan](two, c.Purpose(), generation.PlanFormat))
	layout := plan.Plan{Tile: 32, BatchLast: true, Unroll: 2, EpisodeBatch: 1, VectorWidth: 512}
	put := func(layout plan.Plan) {
		t.Helper()
		require.NoError(t, store.Put(plan.Stored[plan.Plan]{Tune: plan.TuneQuick, Plan: layout}, "some plan", 1))
	}
	put(layout)

	// What a run would choose, without its program.
	got := func(b xlabridge.Backend, tune string) plan.Choice {
		c.Tune = tune
		x, err := c.setup(plan.MachineOf(b, c.Devices))
		require.NoError(t, err)
		choice, err := x.Choose(t.Context(), b)
		require.NoError(t, err)
		return choice
	}
	for _, b := range []*xlabridge.Client{one, two} {
		for _, tune := range []string{plan.TuneAuto, plan.TuneQuick} {
			choice := got(b, tune)
			require.Equal(t, plan.Present, choice.Source)
			require.Equal(t, "1 device, "+layout.Layout(), choice.Plan)
		}
	}
	require.Equal(t, plan.Present, start(t, one, c).Profile().Source)
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
		"cut": string(whole[:len(whole)/2]), "empty": "", "changed": strings.Replace(string(whole), `"tile":32`,
			`"tile":16`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, string(whole), text)
			require.NoError(t, os.WriteFile(files[0], []byte(text), 0o644))
			p := got(one, plan.TuneAuto)
			require.Equal(t, plan.Static, p.Source)
			require.Contains(t, p.Reason, "damaged")
		})
	}
	// A possible file with an impossible plan.
	put(plan.Plan{Tile: 7, Unroll: 1})
	require.Equal(t, plan.Static, got(one, plan.TuneAuto).Source)
	c.Tune = plan.TuneQuick
	chosen, err := c.ChoosePlan(t.Context(), one)
	require.NoError(t, err)
	// static: a machine too slow to compile two programs
	require.Contains(t, []string{plan.Tuned, plan.Static}, chosen.Source)
	// TestTunerIsOver has the deadline. A busy machine takes longer, but not the time of full.
	require.Less(t, chosen.Seconds, plan.FullBudget.Seconds()/2)
	if chosen.Source == plan.Tuned {
		require.GreaterOrEqual(t, len(chosen.Measured), 2)
		for _, b := range []*xlabridge.Client{one, two} {
			p := got(b, plan.TuneAuto)
			require.Equal(t, plan.Present, p.Source)
			require.Equal(t, chosen.Plan, p.Plan)
		}
	}
}

// A program that is larger than the budget is compiled again with regenerated noise.
func TestMemoryBudget(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Policy, c.Steps, c.Tile, c.HallOfFame = 2048, "mlp:512", 5, 32, "0"
	b := xlatest.Open(t, 1)
	kept := start(t, b, c).Profile()
	require.False(t, kept.Fact("noise_redrawn").(bool))
	require.InEpsilon(t, float64(kept.PeakMemoryBytes), float64(kept.PlannedBytes), .5)
	c.Memory = settings.Bytes(kept.PeakMemoryBytes * 3 / 4)
	lean := start(t, b, c)
	require.True(t, lean.Profile().Fact("noise_redrawn").(bool))
	require.LessOrEqual(t, lean.Profile().PeakMemoryBytes, int64(c.Memory))
	require.InEpsilon(t, float64(lean.Profile().PeakMemoryBytes), float64(lean.Profile().PlannedBytes), .3)
	require.Equal(t, kept.Fact("tile"), lean.Profile().Fact("tile"))
	c.Memory = settings.Bytes(lean.Profile().PeakMemoryBytes / 2)
	_, err := New(t.Context(), b, c)
	require.ErrorContains(t, err, "that --memory allows; ")
}

// Measurements that run past the deadline share nothing with the run, and Close waits for them.
func TestCloseWaitsForLateMeasurements(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 3, "linear"
	b := &xlabridge.Reference{}
	want := steps(t, start(t, b, c), 2)
	x, err := c.setup(plan.MachineOf(b, c.Devices))
	require.NoError(t, err)
	chosen, err := x.Choose(t.Context(), b)
	require.NoError(t, err)
	tuner := x.Tuner(b, false)
	release, late := make(chan struct{}), make(chan error, 1)
	measure := tuner.Measure
	tuner.Measure = func(p plan.Plan) (float64, error) {
		<-release
		_, err := measure(p)
		late <- err
		return 0, err
	}
	tuner.Deadline, tuner.Words = time.Now().Add(10*time.Millisecond), plan.Plan.Layout
	_, tried, err := tuner.Run(t.Context(), x.Layout)
	require.NoError(t, err)
	require.Empty(t, tried)
	e, err := c.build(b, x, chosen)
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
