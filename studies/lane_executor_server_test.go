package studies

import (
	"errors"
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

// TestLanesWhileTheServerIsAway: a database's server ends while lanes run and while they write. They wait for it,
// nothing is computed twice, and the results are those of an undisturbed study; of trials that still run others hear
// again once it answers.
func TestLanesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ number, pruner string }{{"1", "none"}, {"2", "median"}} {
		t.Run(c.number, func(t *testing.T) {
			t.Parallel()
			server, url := rdbtest.NewProxy(t, rdbtest.Start(t).Database(t))
			more := func(trace string) string {
				return "trials-as = \"lanes\"\npruner = \"" + c.pruner +
					"\"\nsampler = \"tpe\"\nwindow = 8\nlease = \"400ms\"\n[run]\nwait = \"2ms\"\nsteps = " +
					"30\ntrace = \"" + trace + "\"\n" + onlyX
			}
			trace := filepath.Join(t.TempDir(), "trace")
			_, s := writtenAt(t, here(t, url), more(trace))
			by := coordinator(s)
			var mu sync.Mutex
			said := ""
			by.Notice = func(line string) {
				mu.Lock()
				defer mu.Unlock()
				said += line + "\n"
			}
			heard := func(text string) int {
				mu.Lock()
				defer mu.Unlock()
				return strings.Count(said, text)
			}
			done := make(chan error, 1)
			go func() { done <- by.Run(t.Context()) }()
			batches := func(n int) func() bool {
				return func() bool {
					text, err := os.ReadFile(trace)
					return err == nil && strings.Count(string(text), "\n") >= n
				}
			}

			// Away for a part of the first lanes' time: beats go on afterwards.
			require.Eventually(t, batches(1), 60*time.Second, time.Millisecond)
			server.Down()
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, server.Up())
			back := time.Now()
			if c.pruner == "none" { // else they wait for the database at each round, and may be done early
				db, err := pgx.Connect(t.Context(), url)
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					var n int
					return db.QueryRow(t.Context(),
						`SELECT count(*) FROM trial_heartbeats WHERE heartbeat > now() - $1::interval`,
						time.Since(back)).Scan(&n) == nil && n > 0
				}, 30*time.Second, 10*time.Millisecond, "beats after it was away")
				require.NoError(t, db.Close(t.Context()))
			}

			// Away until they have ended: they keep what they came to.
			require.Eventually(t, batches(2), 60*time.Second, time.Millisecond)
			before := heard("the study pauses until it answers")
			server.Down()
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
		})
	}
}

// TestInsist: what is wrong with the storage that is there is not tried again.
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
