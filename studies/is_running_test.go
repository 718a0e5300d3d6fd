package studies

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// Trials of an interrupted study were shown as running for ever.
func TestAttended(t *testing.T) {
	t.Parallel()
	_, s := written(t, "trials = 40\nwindow = 2\ntrials-as = \"processes\"\n[run]\nwait = \"20ms\"\n")
	ctx, stop := context.WithCancel(t.Context())
	c := coordinator(s)
	some := make(chan bool, 40)
	c.Ended = func(*study.FrozenTrial, *study.FrozenTrial) { some <- true }
	over := make(chan error, 1)
	go func() { over <- c.Run(ctx) }()
	<-some
	attended := func(at string, running int) bool {
		t.Helper()
		d, err := rdb.OpenReadOnly(at)
		require.NoError(t, err)
		defer d.Close()
		st, err := study.New(s.Name, study.Options{Storage: d, Directions: s.Directions(), Sampler: study.Random{}})
		require.NoError(t, err)
		trials, err := st.Trials()
		require.NoError(t, err)
		n := 0
		for _, x := range trials {
			if x.State == study.Running {
				n++
			}
		}
		require.GreaterOrEqual(t, n, running)
		is, err := IsRunning(d, st, trials)
		require.NoError(t, err)
		return is
	}
	require.True(t, attended(s.Storage, 0))
	stop()
	require.Error(t, <-over)
	require.False(t, attended(s.Storage, 1), "the lock is free")

	// A copy has no lock beside it: its last heartbeat counts.
	path, err := rdb.Path(s.Storage)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(copied, text, 0o600))
	d, err := rdb.Open(copied)
	require.NoError(t, err)
	st, err := study.New(s.Name, study.Options{Storage: d, Directions: s.Directions(), Sampler: study.Random{}})
	require.NoError(t, err)
	lease := func(text string) {
		rest, err := d.Attr(st.ID(), callAttr)
		require.NoError(t, err)
		var of execution
		require.NoError(t, json.Unmarshal(rest, &of))
		of.Lease = text
		rest, err = json.Marshal(of)
		require.NoError(t, err)
		require.NoError(t, d.SetAttr(st.ID(), callAttr, rest))
	}
	db, err := sql.Open("sqlite3", "file:"+copied)
	require.NoError(t, err)
	for _, text := range []string{`UPDATE trials SET datetime_start = datetime(datetime_start, '-1 hour'),
		datetime_complete = datetime(datetime_complete, '-1 hour')`,
		`UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-1 hour')`} {
		_, err := db.Exec(text)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	lease("50m")
	require.True(t, attended(copied, 1), "two leases are longer than an hour")
	lease("20m")
	require.False(t, attended(copied, 1))
	trials, err := st.Trials()
	require.NoError(t, err)
	for _, x := range trials {
		require.NoError(t, d.Beat(x.ID))
	}
	require.True(t, attended(copied, 1), "a heartbeat")
	require.NoError(t, d.Close())
}

// An enqueued value out of range was replaced without a message.
func TestEnqueuedWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"vectorized", "processes"} {
		_, s := written(t, "sampler = \"random\"\ntrials = 2\ntrials-as = \""+as+"\"\n"+onlyX)
		d, err := rdb.Open(s.Storage)
		require.NoError(t, err)
		st, err := study.New(s.Name, study.Options{Storage: d, Directions: s.Directions(), Sampler: study.Random{}})
		require.NoError(t, err)
		require.NoError(t, st.Enqueue(map[string]any{"x": 1e6}))
		require.NoError(t, d.Close())
		notices := ""
		w, _ := workdirOf(s.Storage)
		s.Fixed["trace"] = w.coordinator(s.Name) // it is there until all else has ended
		c := coordinator(s)
		c.Notice = func(line string) { notices += line + "\n" }
		require.NoError(t, c.Run(t.Context()))
		require.Contains(t, notices, "trial 0: parameter x was enqueued as 1000000, want a number from ", as)
		require.NoDirExists(t, w.dir, "nothing is left, of workers neither: empty logs were")
	}
}
