package bench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// The rungs are as many as the stages; gains are beside the last rung that there is on this machine.
func TestLadderRows(t *testing.T) {
	require.Len(t, stages, len(rungs))
	rates := make([][]float64, len(rungs))
	for i := range rates {
		rates[i] = []float64{100 * math.Exp2(float64(i)), 10 * math.Exp2(float64(i)), 1000 * math.Exp2(float64(i))}
	}
	rates[5] = nil
	rows := ladderRows(rates)
	require.EqualValues(t, 100, *rows[0].Rate, "the median")
	require.Nil(t, rows[0].Gain)
	require.EqualValues(t, 2, *rows[1].Gain)
	require.Nil(t, rows[5].Rate)
	require.Nil(t, rows[5].Gain)
	require.EqualValues(t, 4, *rows[6].Gain)
	require.EqualValues(t, 29000, rows[7].Stage)
	require.Equal(t, "ours", rows[7].Name)
	for i := 1; i < len(rungs); i++ { // each gives up one way of those of the rung before
		require.NotEqual(t, rungs[i-1], rungs[i])
	}
}

// Bad input is refused, and what synchronises writes the state.
func TestLadderRefuses(t *testing.T) {
	for i, args := range [][]string{{"--seconds", "0"}, {"--seconds", "NaN"}, {"--repeats", "0"}} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"ppo-ladder"}, args...)...), i)
		require.Zero(t, b.opened)
	}
	calls := 0
	require.NoError(t, synced(t.TempDir()+"/state", func() ([]byte, error) { calls++; return []byte("x"), nil }))
	require.Equal(t, 1, calls)
	require.Error(t, synced(t.TempDir()+"/no/state", func() ([]byte, error) { return nil, nil }))
}
