package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		taken, expected time.Duration
		want            string
	}{
		{12 * time.Second, 0, "update 3: 12s so far"},
		{12 * time.Second, time.Minute, "update 3: 12s so far, about 48s left"},
		{70 * time.Second, time.Minute, "update 3: 1m10s so far"},
	} {
		require.Equal(t, c.want, progressText("update 3", c.taken, c.expected))
	}
	require.Equal(t, "90 minutes", longText(90*time.Minute))
	require.Equal(t, "30 hours", longText(30*time.Hour))
	require.Equal(t, "4 days", longText(96*time.Hour))
}

// A long round says how far it is until it ends, and nothing after that.
func TestWatchRound(t *testing.T) {
	said := make(chan string, 1000)
	p := &progress{say: func(text string) { said <- text }, what: "update 3", started: time.Now()}
	p.timer = time.AfterFunc(time.Hour, p.tick)
	p.tick()
	require.Contains(t, <-said, "update 3: 0s so far")
	p.ended = true
	p.tick()
	require.Empty(t, said)
	p.timer.Stop()
	watchRound(func(string) { t.Error("a short round says nothing") }, "update 3", 0)()
}
