package studies

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/study"
	"xlarun/studies/rdb/rdbtest"
)

// TestServerThatEnds: a study pauses while its database's server is away, goes on when it is there again, and comes to the same.
func TestServerThatEnds(t *testing.T) {
	t.Parallel()
	rdbtest.Start(t) // skipped where there is none
	server, err := rdbtest.New()
	require.NoError(t, err)
	defer func() { _ = server.Remove() }() // it may be down
	more := "trials = 60\n[run]\nwait = \"5ms\"\n"
	_, s := writtenAt(t, here(t, server.Database(t)), more)
	c := coordinator(s)
	var mu sync.Mutex
	said := ""
	heard := func() string {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
	ended := make(chan int64, 1000)
	c.Notice = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said += line + "\n"
	}
	c.Ended = func(x, _ *study.FrozenTrial) { ended <- x.Number }
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	for range 2 {
		for range 10 {
			<-ended
		}
		before := strings.Count(heard(), "the study pauses until it answers")
		require.NoError(t, server.Down())
		require.Eventually(t, func() bool { return strings.Count(heard(), "the study pauses until it answers") > before }, 30*time.Second, 10*time.Millisecond, heard())
		require.NoError(t, server.Up())
	}
	require.NoError(t, <-done)
	require.Contains(t, heard(), "no PostgreSQL server answers at 127.0.0.1:")
	require.NotContains(t, heard(), "cr@t")
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}
