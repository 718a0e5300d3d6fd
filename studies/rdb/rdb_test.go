package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// opened is a storage, which ends with the test.
func opened(t *testing.T, at string) *DB {
	t.Helper()
	d, err := Open(at)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func quadratic(t *study.Trial) ([]float64, error) {
	x, err := t.SuggestFloat("x", -1, 1)
	if err != nil {
		return nil, err
	}
	n, err := t.SuggestInt("n", 1, 9)
	if err != nil {
		return nil, err
	}
	kind, err := t.SuggestCategorical("kind", "a", true, nil, 2.5, int64(7))
	if err != nil {
		return nil, err
	}
	switch {
	case t.Number() == 3:
		return nil, study.ErrPruned
	case t.Number() == 4:
		return []float64{math.NaN()}, nil
	case t.Number() == 5:
		panic("broken")
	}
	for step, r := range []float64{x, math.Inf(1), math.Inf(-1), math.NaN()} {
		if err := t.Report(int64(step), r); err != nil {
			return nil, err
		}
	}
	if kind == nil {
		return []float64{math.Inf(1)}, nil
	}
	return []float64{x*x + float64(n)}, nil
}

// TestKeepsWhatItIsTold runs the same study in memory and in a database, which is then read by another storage.
func TestKeepsWhatItIsTold(t *testing.T) { onEach(t, keepsWhatItIsTold) }

func keepsWhatItIsTold(t *testing.T, path string) {
	run := func(s study.Storage) []*study.FrozenTrial {
		st, err := study.New("quadratic", study.Options{Storage: s, Sampler: study.Random{}, Seed: 5})
		require.NoError(t, err)
		require.NoError(t, st.Enqueue(map[string]any{"x": .5, "kind": "a"}))
		require.NoError(t, st.Optimize(t.Context(), 8, 1, quadratic))
		all, err := st.Trials()
		require.NoError(t, err)
		return all
	}
	want := run(study.InMemory())
	d := opened(t, path)
	run(d)
	st, err := study.New("quadratic", study.Options{Storage: opened(t, path), Sampler: study.Random{}})
	require.NoError(t, err)
	got, err := st.Trials()
	require.NoError(t, err)
	require.Len(t, got, 8)
	plain := func(trials []*study.FrozenTrial) string {
		text := ""
		for _, x := range trials {
			require.False(t, x.Start.IsZero() && x.State != study.Fail && x.Number != 0)
			params, err := json.Marshal(x.External())
			require.NoError(t, err)
			text += fmt.Sprintln(x.Number, x.State, string(params), x.Values, x.Intermediate,
				string(x.UserAttrs[study.ReasonAttr]), string(x.SystemAttrs[study.DigestAttr]))
		}
		return text
	}
	require.Equal(t, plain(want), plain(got))
	require.Equal(t, .5, got[0].Params["x"])
	require.Equal(t, study.Pruned, got[3].State)
	require.Equal(t, `"the objective panicked: broken"`, string(got[5].UserAttrs[study.ReasonAttr]))
	_, err = d.Open("quadratic", []study.Direction{study.Maximize})
	require.ErrorContains(t, err, "another name")
}

func TestOpenRefuses(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite3", "file:"+old)
	require.NoError(t, err)
	_, err = db.Exec(
		`CREATE TABLE version_info (version_info_id INTEGER, schema_version INTEGER, library_version TEXT);
		INSERT INTO version_info VALUES (1, 10, '2.0')`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	text := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 20)), 0o600))
	for at, want := range map[string]string{
		text: "holds something else than an SQLite database: give another path", "mysql://u@host/db": "sqlite:///PATH",
		"": "names no file", "sqlite:///": "names no file", "a\x00b": "names no file",
		old: "optuna storage upgrade", t.TempDir(): "",
	} {
		_, err := Open(at)
		require.ErrorContains(t, err, want, at)
	}
}

// TestFirstResultWins: results of one trial by several at once.
func TestFirstResultWins(t *testing.T) { onEach(t, firstResultWins) }

func firstResultWins(t *testing.T, path string) {
	dbs := []*DB{opened(t, path), opened(t, path)}
	id, err := dbs[0].Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	trial := &study.FrozenTrial{State: study.Running}
	require.NoError(t, dbs[0].Add(id, -1, trial))
	require.ErrorIs(t, dbs[1].Add(id, 0, &study.FrozenTrial{State: study.Running}), study.ErrMoved)
	var wait sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wait.Go(func() {
			errs[i] = dbs[i%2].Finish(trial.ID, study.Result{State: study.Complete, Values: []float64{1.5},
				Intermediate: []study.Reported{{Step: 1, Value: .1}}})
		})
	}
	wait.Wait()
	require.NoError(t, errors.Join(errs...), "all are equal to the bit")
	for i, other := range []study.Result{
		{State: study.Complete, Values: []float64{math.Nextafter(1.5, 2)}, Intermediate: []study.Reported{
			{Step: 1, Value: .1}}},
		{State: study.Complete, Values: []float64{1.5}, Intermediate: []study.Reported{{Step: 1, Value: .2}}},
		{State: study.Complete, Values: []float64{math.Inf(1)}}, {State: study.Fail, Reason: "died"},
	} {
		n, ok := errors.AsType[*study.Nondeterminism](dbs[1].Finish(trial.ID, other))
		require.True(t, ok, i)
		require.NotEqual(t, n.First, n.Second)
		all, err := dbs[0].Updates(id, 0, nil, nil)
		require.NoError(t, err)
		require.Equal(t, []float64{1.5}, all[0].Values)
		c, ok := study.System[study.Conflict](all[0], study.ConflictAttr)
		require.True(t, ok, "both digests are kept")
		require.Equal(t, other.Digest(), c.Second)
		require.Equal(t, n.First, c.First)
	}
}

// TestBeats: trials under way have heartbeats, as Optuna writes them, and others none.
func TestBeats(t *testing.T) { onEach(t, beats) }

func beats(t *testing.T, path string) {
	d := opened(t, path)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d.now = func() time.Time { return now }
	id, err := d.Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	trials := []*study.FrozenTrial{{State: study.Running}, {State: study.Running},
		{State: study.Complete, Values: []float64{1}}}
	require.NoError(t, d.Add(id, -1, trials...))
	require.NoError(t, d.Beat())
	require.NoError(t, d.Beat(trials[0].ID, trials[2].ID, 99))
	now = now.Add(time.Hour)
	require.NoError(t, d.Beat(trials[0].ID))
	got := map[int64]string{}
	require.NoError(t, each(d.reads(), func(rows *sql.Rows) error {
		var trial int64
		var at string
		err := rows.Scan(&trial, &at)
		got[trial] = strings.TrimSuffix(at, ".000000")
		return err
	}, `SELECT trial_id, CAST(heartbeat AS TEXT) FROM trial_heartbeats`))
	require.Equal(t, map[int64]string{trials[0].ID: "2026-01-02 04:04:05"}, got)
}

// TestGroupsShareACommit: many writers at once, one of whom fails.
func TestGroupsShareACommit(t *testing.T) { onEach(t, groupsShareACommit) }

func groupsShareACommit(t *testing.T, path string) {
	d := opened(t, path)
	id, err := d.Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	var wait sync.WaitGroup
	errs := make([]error, 200)
	for i := range errs {
		wait.Go(func() {
			want := int64(-1)
			if i%10 == 0 {
				want = 1 << 40 // nobody gets it
			}
			errs[i] = d.Add(id, want, &study.FrozenTrial{State: study.Running, Params: map[string]float64{
				"i": float64(i)}, Distributions: map[string]study.Distribution{
				"i": {Kind: study.Int, High: 1000, Step: 1}}})
		})
	}
	wait.Wait()
	all, err := d.Updates(id, 0, nil, nil)
	require.NoError(t, err)
	require.Len(t, all, 180)
	for i, x := range all {
		require.Equal(t, int64(i), x.Number)
		require.NotZero(t, int(x.Params["i"])%10)
	}
	for i, err := range errs {
		if i%10 == 0 {
			require.ErrorIs(t, err, study.ErrMoved)
		} else {
			require.NoError(t, err)
		}
	}
}

// TestCloseWhileOthersWrite: a write during Close is stored or gets ErrClosed. It panicked.
func TestCloseWhileOthersWrite(t *testing.T) { onEach(t, closeWhileOthersWrite) }

func closeWhileOthersWrite(t *testing.T, path string) {
	d := opened(t, path)
	id, err := d.Open("s", []study.Direction{study.Minimize})
	require.NoError(t, err)
	var wait sync.WaitGroup
	var stored atomic.Int64
	for range 8 {
		wait.Go(func() {
			for {
				err := d.Add(id, -1, &study.FrozenTrial{State: study.Running})
				if err != nil {
					assert.ErrorIs(t, err, ErrClosed)
					return
				}
				stored.Add(1)
			}
		})
	}
	for stored.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, d.Close())
	wait.Wait()
	require.NoError(t, d.Close(), "a second time")
	again := opened(t, path)
	all, err := again.Updates(id, 0, nil, nil)
	require.NoError(t, err)
	require.Len(t, all, int(stored.Load()))
}

func TestHoldsNothing(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 20)), 0o666))
	for _, at := range []string{text, text + ".absent"} {
		holds, err := HasStudies(at)
		require.NoError(t, err)
		require.False(t, holds)
	}
	require.NoFileExists(t, text+".absent")
}
