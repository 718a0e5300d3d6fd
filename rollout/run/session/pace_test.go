package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of 200 rounds of 1 to 200 ms, each 1 ms longer than the one before it, the median is number 100's and the 99th
// percentile that of number 198.
func TestPace(t *testing.T) {
	var p pace
	for _, f := range p.facts("update") {
		require.Nil(t, f.Value, f.Name)
	}
	now := time.Unix(0, 0)
	step := func(ms int) {
		started := now.Add(time.Millisecond)
		now = started.Add(time.Duration(ms) * time.Millisecond)
		p.add(started, now)
	}
	step(5000) // the first counts nowhere
	require.Nil(t, p.facts("update")[2].Value)
	for i := range 200 {
		step(i + 1)
	}
	f := p.facts("update")
	require.Equal(t, "update_seconds_p50", f[0].Name)
	require.InDelta(t, .1, f[0].Value, 1e-9)
	require.Equal(t, "update_seconds_p99", f[1].Name)
	require.InDelta(t, .198, f[1].Value, 1e-9)
	require.Equal(t, "idle_share", f[2].Name)
	require.InDelta(t, .2/(.2+20.1), f[2].Value, 1e-9)
	row := p.row("update") // of rounds 73 to 200
	require.Equal(t, []string{"update_seconds_p50", "update_seconds_p99", "idle_share"},
		[]string{row[0].Name, row[1].Name, row[2].Name})
	require.InDelta(t, .136, row[0].Number, 1e-9)
	require.InDelta(t, .199, row[1].Number, 1e-9)
	require.InDelta(t, .2/(.2+20.1), row[2].Number, 1e-9)
	for range keptRounds {
		step(7)
	}
	require.Len(t, p.seconds, keptRounds)
	require.Len(t, p.recent, recentRounds)
	require.InDelta(t, .007, p.row("update")[1].Number, 1e-9)
	for i := range 2 * recentRounds { // around the ring's end
		step(i + 1)
	}
	require.InDelta(t, .255, p.row("update")[1].Number, 1e-9)
	require.InDelta(t, .192, p.row("update")[0].Number, 1e-9)
	for range keptRounds {
		step(7)
	}
	require.InDelta(t, .007, p.facts("update")[1].Value, 1e-9, "the last rounds count")
}
