package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/rollout/settings"
)

// A range with the larger bound first is refused.
func TestReversedRanges(t *testing.T) {
	t.Parallel()
	type several struct {
		Rate Number `set:"rate" above:"0" each:"" help:"a rate"`
		Size Number `set:"size" help:"a size"`
	}
	s := &several{Rate: Num(1), Size: Num(1)}
	f, ok := Lookup(s, "rate")
	require.True(t, ok)
	require.NoError(t, f.Set("0.1..0.01"))
	require.EqualError(t, Check(s), "rate: got 0.1..0.01, want the smaller bound first: 0.01..0.1")
	for _, good := range []string{"0.01..0.1", "0.1..0.1", "0.1,0.01"} {
		require.NoError(t, f.Set(good))
		require.NoError(t, Check(s), good)
	}
	for _, bad := range []string{"abc", "0.1..", "0.1,b", "1..2..3"} {
		err := Check(&several{Rate: Number{Value: .1, Each: bad}})
		require.ErrorContains(t, err, "rate: got "+bad+", want a number above 0", bad)
	}
	require.EqualError(t, Values{"size": "2..-1"}.ApplyEach(s, "strategy x", "strategy."),
		"strategy.size: got 2..-1, want the smaller bound first: -1..2")
	require.NoError(t, Values{"size": "-2..-1"}.ApplyEach(s, "strategy x", "strategy."))
}
