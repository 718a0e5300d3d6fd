package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/journey"
	"xlarun/xlabridge"
)

// Each way of the journey computes the same two updates. Episodes end after two steps.
func TestWaysOfTheJourney(t *testing.T) {
	train := func(w journey.Way) (before, after []float64) {
		t.Helper()
		w.Environments, w.Steps, w.Channels, w.Units, w.MaxSteps = 2, 4, "2", 4, 2
		x, err := journey.New(&xlabridge.Reference{}, w)
		require.NoError(t, err)
		before, err = x.Numbers()
		require.NoError(t, err)
		for i := range 2 {
			require.NoError(t, x.Update(false), "a warm-up leaves the state as it was")
			require.NoError(t, x.Update(true), "update %d", i)
		}
		after, err = x.Numbers()
		require.NoError(t, err)
		return before, after
	}
	before, want := train(journey.Way{Program: true})
	require.NotEqual(t, before, want)
	for _, w := range []journey.Way{{Collect: journey.OneByOne, Interpreted: true}, {Collect: journey.OnHost},
		{Collect: journey.Logged}, {Collect: journey.Batched}, {Collect: journey.Scanned},
		{Program: true, Branch: true}} {
		_, got := train(w)
		require.InDeltaSlice(t, want, got, 2e-5, "%+v", w)
	}
}
