package command

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/plots"
	"xlarun/studies/study"
)

// Trials with an infinite value were left out of the picture, and nothing said so.
func TestTrialsThatAreNotDrawnAreCounted(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   string // in the picture, or the error
		fails  bool
	}{
		{[]float64{1, 2}, "", false},
		{[]float64{1, inf, 2}, "without 1 complete trial, whose value is infinite", false},
		{[]float64{-inf, 1, inf}, "without 2 complete trials, whose values are infinite", false},
		{[]float64{inf}, "s has 1 complete trial, whose value is infinite, and no other: there is nothing to draw",
			true},
		{nil, "s has no complete trial yet: there is nothing to draw", true},
	} {
		trials := []*study.FrozenTrial{{State: study.Fail}, {State: study.Pruned, Values: []float64{inf}},
			{State: study.Running}}
		for _, x := range c.values {
			trials = append(trials, &study.FrozenTrial{Number: int64(len(trials)), State: study.Complete,
				Values: []float64{nan, x}})
		}
		path := filepath.Join(t.TempDir(), "study.svg")
		err := plots.History(path, "s", "value", drawable(trials, 1), true)
		if c.fails {
			assert.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if c.want == "" {
			assert.NotContains(t, string(text), "infinite")
		} else {
			assert.Contains(t, string(text), c.want)
		}
	}
}
