package studies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb"
	"xlarun/studies/rdb/rdbtest"
	"xlarun/studies/study"
)

// TestLanesWhileTheServerIsAway: the database's server is away while lanes run and while they write. The study waits
// for it, computes nothing twice, and has the results of an undisturbed study. Once the server answers, running trials
// have heartbeats again. The lanes wait (trace.1, trace.2) until the server is down.
func TestLanesWhileTheServerIsAway(t *testing.T) { lanesWithoutServer(t, "none") }

// Its pruner reads the database at each report.
func TestPrunedLanesWhileTheServerIsAway(t *testing.T) { lanesWithoutServer(t, "median") }

func lanesWithoutServer(t *testing.T, pruner string) {
	t.Parallel()
	server, url := rdbtest.NewProxy(t, rdbtest.Start(t).Database(t))
	more := func(trace string) string {
		return "trials-as = \"vectorized\"\npruner = \"" + pruner +
			"\"\nsampler = \"tpe\"\nwindow = 8\nlease = \"400ms\"\n[run]\nwait = \"2ms\"\nsteps = " +
			"30\ntrace = \"" + trace + "\"\n" + onlyX
	}
	trace := filepath.Join(t.TempDir(), "trace")
	_, s := writtenAt(t, here(t, url), more(trace))
	by := coordinator(s)
	var mu sync.Mutex
	notices := ""
	by.Notice = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		notices += line + "\n"
	}
	heard := func(text string) int {
		mu.Lock()
		defer mu.Unlock()
		return strings.Count(notices, text)
	}
	hold := func(n int) string { return fmt.Sprintf("%s.%d", trace, n) }
	for n := range 2 {
		require.NoError(t, os.WriteFile(hold(n+1), nil, 0o666))
	}
	done := make(chan error, 1)
	go func() { done <- by.Run(t.Context()) }()
	batches := func(n int) func() bool {
		return func() bool {
			text, err := os.ReadFile(trace)
			return err == nil && strings.Count(string(text), "\n") >= n
		}
	}

	// Away while the first lanes run: heartbeats go on afterwards.
	require.Eventually(t, batches(1), 60*time.Second, time.Millisecond)
	server.Down()
	if pruner == "none" {
		time.Sleep(300 * time.Millisecond) // a few heartbeats are lost
		require.NoError(t, server.Up())
		back := time.Now()
		db, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			var n int
			return db.QueryRow(t.Context(),
				`SELECT count(*) FROM trial_heartbeats WHERE heartbeat > now() - $1::interval`,
				time.Since(back)).Scan(&n) == nil && n > 0
		}, time.Minute, 10*time.Millisecond, "heartbeats after it was away")
		require.NoError(t, db.Close(t.Context()))
		require.NoError(t, os.Remove(hold(1)))
	} else {
		require.NoError(t, os.Remove(hold(1)))
		require.Eventually(t, func() bool {
			return heard("the study pauses until it answers") > 0
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, server.Up())
	}

	// Away until the second lanes have ended: they keep their results.
	require.Eventually(t, batches(2), 60*time.Second, time.Millisecond)
	before := heard("the study pauses until it answers")
	server.Down()
	require.NoError(t, os.Remove(hold(2)))
	require.Eventually(t, func() bool {
		return heard("the study pauses until it answers") > before
	}, 60*time.Second, 10*time.Millisecond)
	require.NoError(t, server.Up())
	require.NoError(t, <-done)
	require.Positive(t, heard("the server answers again"))
	require.True(t, by.Lanes())

	ran := 0
	for _, n := range widths(t, trace) {
		ran += n
	}
	require.Equal(t, s.Trials*s.Seeds, ran, "no lane ran twice")
	require.Equal(t, undisturbed(t, more(filepath.Join(t.TempDir(), "other"))), plainText(trialsOf(t, s)))
}

// TestInsist: an error of a storage that answers is not retried.
func TestInsist(t *testing.T) {
	t.Parallel()
	_, s := written(t, "")
	c := coordinator(s)
	require.NoError(t, c.Open())
	defer func() { require.NoError(t, c.Close()) }()
	calls := 0
	broken, two := errors.New("broken"), &study.Nondeterminism{Number: 3, First: "a", Second: "b"}
	for _, x := range []struct {
		number    int
		err, want error
	}{{1, nil, nil}, {2, broken, broken}, {3, two, two}, {4, rdb.ErrTaken, rdb.ErrTaken}} {
		calls = 0
		err := c.untilStored(t.Context(), func() error { calls++; return x.err })
		require.Equal(t, 1, calls, "case %d", x.number)
		require.ErrorIs(t, err, x.want, "case %d", x.number)
		wrapped := new(*retryable)
		require.Equal(t, x.err != nil && x.number != 3, errors.As(err, wrapped), "case %d: the session begins anew",
			x.number)
	}
}
