package studies

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb/rdbtest"
	"xlarun/studies/study"
)

// TestServerThatEnds: a study pauses while its database's server is away, goes on when it is there again, and comes to
// the same.
func TestServerThatEnds(t *testing.T) {
	t.Parallel()
	server, url := rdbtest.NewProxy(t, rdbtest.Start(t).Database(t))
	more := "trials = 24\nlease = \"500ms\"\nattempts = 1000\n[run]\nwait = \"2ms\"\n"
	_, s := writtenAt(t, here(t, url), more)
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
		for range 4 {
			<-ended
		}
		before := strings.Count(heard(), "the study pauses until it answers")
		server.Down()
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
