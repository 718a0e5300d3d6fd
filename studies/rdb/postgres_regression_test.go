package rdb

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb/rdbtest"
	"xlarun/studies/study"
)

// One study has one coordinator, whatever schema its tables are found through.
func TestOneCoordinatorInAnySchema(t *testing.T) {
	at := rdbtest.Start(t).Database(t)
	a := opened(t, at)
	_, err := a.write.Exec(`CREATE SCHEMA alice`)
	require.NoError(t, err)
	one, err := a.Open("s", []study.Direction{study.Maximize})
	require.NoError(t, err)
	require.NoError(t, a.Lock("s"))
	separator := "?"
	if strings.Contains(at, "?") {
		separator = "&"
	}
	b := opened(t, at+separator+"search_path=alice,public")
	same, err := b.Open("s", []study.Direction{study.Maximize})
	require.NoError(t, err)
	require.Equal(t, one, same)
	b.lockWait = 0
	require.ErrorIs(t, b.Lock("s"), ErrTaken)
}

// Who may only read looks at a study; and whoever does waits for nobody's transaction.
func TestReadersMakeNothing(t *testing.T) {
	at := rdbtest.Start(t).Database(t)
	a := opened(t, at)
	_, err := a.write.Exec(
		`CREATE ROLE onlyreads LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlyreads`)
	require.NoError(t, err)
	t.Cleanup(func() { // a role is the server's, not the database's
		_, err := a.write.Exec(`DROP OWNED BY onlyreads; DROP ROLE onlyreads`)
		require.NoError(t, err)
	})
	p, err := parse(at)
	require.NoError(t, err)
	tx, err := a.write.Begin() // has written a trial, and goes on
	require.NoError(t, err)
	_, err = tx.Exec(`INSERT INTO studies (study_name) VALUES ('z')`)
	require.NoError(t, err)
	_, err = tx.Exec(`INSERT INTO trials (number, study_id, state) SELECT 0, study_id, 'RUNNING' FROM studies`)
	require.NoError(t, err)
	b, err := Open(fmt.Sprintf("postgresql://onlyreads:x@%s:%d/%s", p.server.Host, p.server.Port, p.server.Database))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, tx.Rollback())
}

// A process that has lost its lock leaves no connections behind, however often it asks.
func TestRefusedConnectionsEnd(t *testing.T) {
	at := rdbtest.Start(t).Database(t)
	a := opened(t, at)
	require.NoError(t, a.Lock("s"))
	b := opened(t, at)
	b.mu.Lock()
	b.locked, b.lockWait = "s", 0 // as one that had it
	b.mu.Unlock()
	b.write.SetMaxIdleConns(0)
	count := func() (n int) {
		require.NoError(t, a.read.QueryRow(`SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'xlarun' AND datname = current_database()`).Scan(&n))
		return n
	}
	before := count()
	for range 3 {
		require.ErrorIs(t, b.Ping(t.Context()), ErrTaken)
	}
	// the server may take a moment to forget a connection
	require.Eventually(t, func() bool { return count() <= before }, time.Minute, 10*time.Millisecond)
}

// Processes that make one study at the same time all have it.
func TestOneStudyIsMadeAtOnce(t *testing.T) {
	at := rdbtest.Start(t).Database(t)
	a, b := opened(t, at), opened(t, at)
	for k := range 30 {
		name := fmt.Sprint("study ", k)
		ids, errs := make(chan study.StudyID, 2), make(chan error, 2)
		for _, d := range []*DB{a, b} {
			go func() {
				id, err := d.Open(name, []study.Direction{study.Minimize})
				ids <- id
				errs <- err
			}()
		}
		require.NoError(t, errors.Join(<-errs, <-errs))
		require.Equal(t, <-ids, <-ids)
	}
}
