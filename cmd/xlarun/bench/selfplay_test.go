package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSelfplay(t *testing.T) {
	for _, c := range []struct {
		number int
		out    string
		want   float64
		bad    string
	}{
		{1, "search: 500000 simulations/s, 0.001500 s a game, 0.096000 s\n", 2, ""},
		{2, "a warning\ntrain: 0.012500 s\n", .0125, ""},
		{3, "batch: 0.000350 s (0.000200 s without permutations)\n", .00035, ""},
		{4, "", 0, "holds no time"},
	} {
		got, err := parseSelfplay(c.out)
		if c.bad != "" {
			require.ErrorContains(t, err, c.bad, "case %d", c.number)
			continue
		}
		require.NoError(t, err)
		require.InDelta(t, c.want, got, 1e-9, "case %d", c.number)
	}
	names := map[string]bool{}
	for _, w := range selfplayWorkloads() {
		require.False(t, names[w.name])
		names[w.name] = true
		require.GreaterOrEqual(t, w.aim, w.needed)
	}
	require.Len(t, names, 8)
}
