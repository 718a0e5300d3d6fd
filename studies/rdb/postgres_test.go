package rdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb/rdbtest"
	"xlarun/studies/study"
)

func TestAddresses(t *testing.T) {
	for at, want := range map[string]string{
		"a.db": "a.db", "sqlite:///a.db": "sqlite:///a.db",
		"postgresql://me:secret@host:5433/db":           "postgresql://me@host:5433/db",
		"postgres://me:se%40cret@host/db":               "postgresql://me@host/db",
		"postgresql+psycopg2://me@host/db":              "postgresql://me@host/db",
		"postgresql://host/db?user=me&password=secret":  "postgresql://host/db?user=me",
		"postgresql:///db?host=%2Ftmp&password=secret":  "postgresql:///db?host=%2Ftmp",
		"postgresql://me:sec/ret@host/db":               "postgresql://…",
		"postgresql://me:12/secret@host/db":             "postgresql://…",
		"postgresql://me:12#secret@host/db":             "postgresql://…",
		"postgresql://me:secret@host":                   "postgresql://…",
		"postgresql://me:secret@host:port/db":           "postgresql://…",
		"postgresql://me:secret@host/db?sslmode=sicret": "postgresql://…",
		"mysql://me:secret@host/db":                     "mysql://…",
	} {
		require.Equal(t, want, Shown(at))
		_, err := Open(at + "\x00")
		require.Error(t, err)
		for _, word := range []string{"secret", "ret@", "cret"} {
			require.NotContains(t, err.Error(), word, at)
		}
	}
	for at, want := range map[string]string{
		"x/a.db": "x/a.db", "postgresql://me:secret@host:5433/db": "runs/postgresql-host-5433-db",
		"postgresql://you@host:5433/db":                 "runs/postgresql-host-5433-db",
		"postgresql:///db?host=%2Ftmp&search_path=mine": "runs/postgresql-%2Ftmp-5432-db,mine",
		"postgresql://my-host/a%20b":                    "runs/postgresql-my-host-5432-a%20b",
		"postgresql://my-host/a_b":                      "runs/postgresql-my-host-5432-a_b",
		"postgresql://a-1:2/b":                          "runs/postgresql-a-1-2-b",
		"postgresql://a:1/2-b":                          "runs/postgresql-a-1-2%2Db",
	} {
		got, err := WorkPath(at)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestNumbered(t *testing.T) {
	require.Equal(t, `a = $1 AND b IN ($2, $3)`, numbered(`a = ? AND b IN (?, ?)`))
	require.Equal(t, `a = $2 OR $12`, numbered(`a = ?2 OR ?12`))
}

// TestServersRefuse: what is wrong with a server's URL is one sentence, without the password.
func TestServersRefuse(t *testing.T) {
	s := rdbtest.Start(t)
	good := s.Database(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port where nobody listens
	require.NoError(t, err)
	free := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	name := good[strings.LastIndex(good, "/")+1:]
	port := fmt.Sprint(s.Port())
	for _, c := range []struct{ at, want string }{
		{strings.Replace(good, "se%2Fcr%40t", "wrongone", 1), "at 127.0.0.1:" + port + " does not let the user " +
			"tester in (password authentication failed"},
		{strings.Replace(good, "tester", "stranger", 1), "does not let the user stranger in"},
		{strings.Replace(good, name, "absent", 1), "has no database absent: make it (createdb absent)"},
		{strings.Replace(good, port, free, 1), "no PostgreSQL server answers at 127.0.0.1:" + free +
			" (connection refused): start it"},
		{good + "?sslmode=require", "no PostgreSQL server answers at 127.0.0.1:" + port +
			" (server refused TLS connection)"},
	} {
		_, err := Open(c.at)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
		for _, secret := range []string{"wrongone", "se%2Fcr%40t", "se/cr@t"} {
			require.NotContains(t, err.Error(), secret)
		}
		_, err = HasStudies(c.at)
		require.ErrorContains(t, err, c.want)
	}
	a, err := parse(good)
	require.NoError(t, err)
	// to ask for one may take long
	require.ErrorContains(t, a.explained(&net.DNSError{Err: "no such host", Name: "127.0.0.1"}),
		"there is no host 127.0.0.1 (no such host): mend the URL")
	holds, err := HasStudies(good)
	require.NoError(t, err)
	require.False(t, holds, "and looking makes no tables")
	d := opened(t, good)
	holds, err = HasStudies(good)
	require.NoError(t, err)
	require.True(t, holds)
	require.NotContains(t, d.String(), "cr")
}

// TestLock: one storage at a time runs a study, another takes it over, and what has lost it cannot write any more.
func TestLock(t *testing.T) {
	at := rdbtest.Start(t).Database(t)
	a, b := opened(t, at), opened(t, at)
	b.lockWait = 0
	require.NoError(t, a.Lock("s"))
	require.ErrorIs(t, b.Lock("s"), ErrTaken)
	require.NoError(t, b.Lock("other"))
	id, err := a.Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	require.NoError(t, a.Add(id, -1, &study.FrozenTrial{State: study.Running}))
	_, err = a.read.Exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`)
	require.NoError(t, err)
	c := opened(t, at)
	require.NoError(t, c.Lock("s"))
	a.lockWait = 0
	for range 3 { // the first time finds the connection dead
		require.Error(t, a.Finish(1, study.Result{State: study.Complete, Values: []float64{1}}))
	}
	require.ErrorIs(t, a.Ping(t.Context()), ErrTaken)
	require.NoError(t, c.Close())
	a.lockWait = time.Minute
	require.NoError(t, a.Ping(t.Context()), "it takes the lock again")
	require.NoError(t, a.Finish(1, study.Result{State: study.Complete, Values: []float64{1}}))
}

// TestRestartedServer: a storage goes on when its server is there again.
func TestRestartedServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a server of its own")
	}
	rdbtest.Start(t) // skipped where there is none
	s, err := rdbtest.New()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Remove()) }()
	d := opened(t, s.Database(t))
	id, err := d.Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	require.NoError(t, d.Lock("s"))
	require.NoError(t, s.Down())
	require.Error(t, d.Add(id, -1, &study.FrozenTrial{State: study.Running}))
	require.ErrorContains(t, d.Ping(t.Context()), "no PostgreSQL server answers at")
	_, err = d.Updates(id, 0, nil, nil)
	require.ErrorContains(t, err, "no PostgreSQL server answers at")
	require.NoError(t, s.Up())
	require.NoError(t, d.Ping(t.Context()))
	require.NoError(t, d.Add(id, -1, &study.FrozenTrial{State: study.Running}))
	all, err := d.Updates(id, 0, nil, nil)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// TestManyWriters: several storages that add, report and end trials at once, in groups whose locks cross: none is lost,
// numbers have no gaps, and a reader that asks for what is new misses nothing.
func TestManyWriters(t *testing.T) { onEach(t, manyWriters) }

func manyWriters(t *testing.T, at string) {
	const storages, writers, each = 3, 6, 8
	var wait sync.WaitGroup
	errs := make(chan error, storages*writers)
	first := opened(t, at)
	id, err := first.Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	for range storages {
		d := opened(t, at)
		for range writers {
			wait.Go(func() {
				for range each {
					x := &study.FrozenTrial{State: study.Running, Start: time.Now(),
						SystemAttrs: map[string]json.RawMessage{"k": json.RawMessage(`1`)}}
					err := d.Add(id, -1, x)
					for step := range int64(3) {
						err = errors.Join(err, d.Report(x.ID, study.Reported{Step: step, Value: float64(step)}))
					}
					errs <- errors.Join(err, d.Beat(x.ID),
						first.Finish(x.ID, study.Result{State: study.Complete, Values: []float64{float64(x.Number)}}),
						d.Finish(x.ID, study.Result{State: study.Complete, Values: []float64{float64(x.Number)}}))
				}
			})
		}
	}
	seen := map[int64]bool{}
	last := int64(0)
	for done := 0; done < storages*writers*each; {
		select {
		case err := <-errs:
			require.NoError(t, err)
			done++
		default:
		}
		news, err := first.Updates(id, last, nil, nil)
		require.NoError(t, err)
		for _, x := range news {
			require.Equal(t, int64(len(seen)), x.Number)
			seen[x.Number], last = true, x.ID
		}
	}
	wait.Wait()
	news, err := first.Updates(id, 0, nil, nil)
	require.NoError(t, err)
	require.Len(t, news, storages*writers*each)
	for i, x := range news {
		require.Equal(t, int64(i), x.Number)
		require.Equal(t, []float64{float64(i)}, x.Values)
		require.Len(t, x.Intermediate, 3)
	}
}

// TestRetriesDeadlocks: two transactions that wait for each other, as groups of two storages may, both come through.
func TestRetriesDeadlocks(t *testing.T) {
	at := rdbtest.Start(t).Database(t)
	dbs := []*DB{opened(t, at), opened(t, at)}
	id, err := dbs[0].Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	trials := []*study.FrozenTrial{{State: study.Running}, {State: study.Running}}
	require.NoError(t, dbs[0].Add(id, -1, trials...))
	var met [2]sync.Once
	var both sync.WaitGroup
	both.Add(2)
	var wait sync.WaitGroup
	errs, ran := make([]error, 2), make([]int, 2)
	for i, d := range dbs {
		wait.Go(func() {
			errs[i] = d.do(func(tx *tx) error {
				ran[i]++
				if _, err := statesOf(tx, d.dialect, []TrialResult{{Trial: trials[i].ID}}); err != nil {
					return err
				}
				met[i].Do(func() {
					both.Done()
					both.Wait() // both have one row: each waits for the other's
				})
				_, err := statesOf(tx, d.dialect, []TrialResult{{Trial: trials[1-i].ID}})
				return err
			})
		})
	}
	wait.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Greater(t, ran[0]+ran[1], 2, "at least one of them runs again")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, dbs[0].Ping(ctx))
}
