package studies

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/studies/rdb/rdbtest"
	"xlarun/studies/study"
)

// TestServerThatEnds: a study pauses while its database's server is away, goes on when the server is back, and has the
// same results.
func TestServerThatEnds(t *testing.T) {
	t.Parallel()
	server, url := rdbtest.NewProxy(t, rdbtest.Start(t).Database(t))
	more := "trials = 24\nlease = \"500ms\"\nattempts = 1000\n[run]\nwait = \"2ms\"\n"
	_, s := writtenAt(t, here(t, url), more)
	c := coordinator(s)
	var mu sync.Mutex
	notices := ""
	heard := func() string {
		mu.Lock()
		defer mu.Unlock()
		return notices
	}
	// The server goes away while the coordinator waits here, so that the study cannot end before.
	ended, downs, down := 0, 1, make(chan int)
	if long.On() {
		downs = 2
	}
	c.Notice = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		notices += line + "\n"
	}
	c.Ended = func(*study.FrozenTrial, *study.FrozenTrial) {
		if ended++; ended%4 == 0 && ended <= 4*downs {
			before := strings.Count(heard(), "the study pauses until it answers")
			server.Down()
			down <- before
		}
	}
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	for range downs {
		before := <-down
		require.Eventually(t, func() bool {
			return strings.Count(heard(), "the study pauses until it answers") > before
		}, time.Minute, 10*time.Millisecond, heard())
		require.NoError(t, server.Up())
	}
	require.NoError(t, <-done)
	require.Contains(t, heard(), "no PostgreSQL server answers at 127.0.0.1:")
	require.NotContains(t, heard(), "cr@t")
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}
