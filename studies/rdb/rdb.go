// Package rdb keeps studies in a database of Optuna's schema (version 12, of Optuna 5.0): Optuna, its dashboard and this
// program open the same file, at the same time if they like.
package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // database/sql's "sqlite3"

	"xlarun/rollout/study"
)

// DB is a study.Storage in an SQLite file. Several processes may have it open.
type DB struct {
	path  string
	write *sql.DB // one connection
	read  *sql.DB
	queue chan request
	over  sync.WaitGroup
	once  sync.Once
	now   func() time.Time

	writeStatements, readStatements statements
}

type request struct {
	op   func(*tx) error
	done chan error
}

// busy is how long a process waits for another's write: one that is stopped meanwhile holds the lock.
const busy = 5 * time.Minute

// Path is the file that a URL means: sqlite:///relative/path, sqlite:////absolute/path, or a path.
func Path(at string) (string, error) {
	path, is := strings.CutPrefix(at, "sqlite:///")
	if scheme, _, ok := strings.Cut(at, "://"); ok && !is {
		return "", fmt.Errorf("storage %q: got %s, want sqlite:///PATH or the path of an SQLite file", at, scheme)
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("storage %q names no file: give sqlite:///PATH or a path", at)
	}
	return path, nil
}

// Holds tells whether a file is a database that has room for studies. It changes nothing.
func Holds(path string) (bool, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: abs}).EscapedPath()+"?mode=ro")
	if err != nil {
		return false, err
	}
	tables := 0
	err = db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('studies', 'trials', 'version_info')`).Scan(&tables)
	return err == nil && tables == 3, db.Close()
}

// Open opens a storage, or makes it; see Path.
func Open(at string) (*DB, error) {
	path, err := Path(at)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dsn := func(more string) string {
		return "file:" + (&url.URL{Path: abs}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)&_pragma=synchronous(normal)", busy.Milliseconds()) + more
	}
	d := &DB{path: path, queue: make(chan request, 1024), now: time.Now}
	if d.write, err = sql.Open("sqlite3", dsn("&_txlock=immediate")); err != nil {
		return nil, err
	}
	if d.read, err = sql.Open("sqlite3", dsn("")); err != nil {
		return nil, errors.Join(err, d.write.Close())
	}
	d.write.SetMaxOpenConns(1)
	d.read.SetMaxOpenConns(2)
	if err := d.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("storage %s: %w", path, err), d.write.Close(), d.read.Close())
	}
	d.writeStatements.db, d.readStatements.db = d.write, d.read
	d.over.Go(d.writes)
	return d, nil
}

func (d *DB) start() error {
	// Readers then do not hold up the writer. Where it cannot be had, as beside an open transaction, it goes without.
	_, _ = d.write.Exec(`PRAGMA journal_mode = WAL`)
	tx, err := d.write.Begin()
	if err != nil {
		return err
	}
	if err := prepare(tx, d.path); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close waits for what is being written.
func (d *DB) Close() error {
	d.once.Do(func() { close(d.queue) })
	d.over.Wait()
	return errors.Join(d.write.Close(), d.read.Close())
}

// largestGroup is the most requests that share a commit.
const largestGroup = 512

// writes commits requests, those that wait together in one transaction: a commit costs the same for one or many.
func (d *DB) writes() {
	for first := range d.queue {
		group := []request{first}
		for len(group) < largestGroup {
			select {
			case r, ok := <-d.queue:
				if ok {
					group = append(group, r)
					continue
				}
			default:
			}
			break
		}
		results := d.commit(group)
		d.writeStatements.learn()
		for i, err := range results {
			group[i].done <- err
		}
	}
}

// commit runs requests in one transaction; one that fails leaves nothing behind and the others stay.
func (d *DB) commit(group []request) []error {
	results := make([]error, len(group))
	all := func(err error) []error {
		err = fmt.Errorf("storage %s: %w", d.path, err)
		for i := range results {
			results[i] = errors.Join(results[i], err)
		}
		return results
	}
	tx, err := d.write.Begin()
	if err != nil {
		return all(err)
	}
	own := d.writeStatements.of(tx)
	for i, r := range group {
		if len(group) == 1 {
			if results[i] = r.op(own); isReal(results[i]) {
				results[i] = errors.Join(results[i], tx.Rollback())
				return results
			}
			break
		}
		if _, err := own.Exec(`SAVEPOINT one`); err != nil {
			return all(errors.Join(err, tx.Rollback()))
		}
		results[i] = r.op(own)
		if isReal(results[i]) {
			if _, err := own.Exec(`ROLLBACK TO one`); err != nil {
				return all(errors.Join(err, tx.Rollback()))
			}
		}
		if _, err := own.Exec(`RELEASE one`); err != nil {
			return all(errors.Join(err, tx.Rollback()))
		}
	}
	if err := tx.Commit(); err != nil {
		return all(err)
	}
	return results
}

// isReal tells of an error that undoes what the request wrote.
func isReal(err error) bool {
	_, conflict := errors.AsType[*study.Nondeterminism](err)
	return err != nil && !conflict
}

// do has a request committed.
func (d *DB) do(op func(*tx) error) error {
	r := request{op, make(chan error, 1)}
	d.queue <- r
	return <-r.done
}

// Open implements study.Storage.
func (d *DB) Open(name string, directions []study.Direction) (id study.StudyID, err error) {
	err = d.do(func(tx *tx) error {
		found, err := Find(tx, name)
		if err != nil {
			return err
		}
		if id = found; id != 0 {
			has, err := directionsOf(tx, id)
			if err != nil {
				return err
			}
			return study.CheckDirections(name, has, directions)
		}
		r, err := tx.Exec(`INSERT INTO studies (study_name) VALUES (?)`, name)
		if err != nil {
			return err
		}
		n, err := r.LastInsertId()
		id = study.StudyID(n)
		for i, direction := range directions {
			if err == nil {
				_, err = tx.Exec(`INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)`, string(direction), n, i)
			}
		}
		return err
	})
	return id, err
}

type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// Find is the study of a name, 0 for none.
func Find(q querier, name string) (id study.StudyID, err error) {
	err = q.QueryRow(`SELECT study_id FROM studies WHERE study_name = ?`, name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

func directionsOf(q querier, id study.StudyID) (all []study.Direction, err error) {
	err = each(q, func(rows *sql.Rows) error {
		var d study.Direction
		err := rows.Scan(&d)
		all = append(all, d)
		return err
	}, `SELECT direction FROM study_directions WHERE study_id = ? ORDER BY objective`, id)
	return all, err
}

// Studies are the names of the studies with their directions.
func (d *DB) Studies() (names []string, directions map[string][]study.Direction, err error) {
	ids := map[string]study.StudyID{}
	err = each(d.read, func(rows *sql.Rows) error {
		var name string
		var id study.StudyID
		err := rows.Scan(&name, &id)
		names, ids[name] = append(names, name), id
		return err
	}, `SELECT study_name, study_id FROM studies ORDER BY study_id`)
	directions = map[string][]study.Direction{}
	for _, name := range names {
		if err == nil {
			directions[name], err = directionsOf(d.read, ids[name])
		}
	}
	return names, directions, err
}

// each calls take for each row.
func each(q querier, take func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.Query(query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := take(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// timeFormat is Optuna's, of local time.
const timeFormat = "2006-01-02 15:04:05.000000"

func timeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Local().Format(timeFormat)
}

// Add implements study.Storage.
func (d *DB) Add(s study.StudyID, want int64, trials ...*study.FrozenTrial) error {
	return d.do(func(tx *tx) error {
		next := int64(0)
		err := tx.QueryRow(`SELECT number + 1 FROM trials WHERE study_id = ? ORDER BY trial_id DESC LIMIT 1`, s).Scan(&next)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if want >= 0 && next != want {
			return study.ErrMoved
		}
		for i, t := range trials {
			number := next + int64(i)
			r, err := tx.Exec(`INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, ?)`,
				number, s, string(t.State), timeText(t.Start), timeText(t.Complete))
			if err != nil {
				return err
			}
			if t.ID, err = r.LastInsertId(); err != nil {
				return err
			}
			t.Number = number
			if err := writeParams(tx, t); err != nil {
				return err
			}
			if t.State.Finished() {
				if err := writeValues(tx, t.ID, t.Values, t.Intermediate); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// writeParams writes the parameters that are not there, and the attributes.
func writeParams(tx *tx, t *study.FrozenTrial) error {
	for _, name := range sorted(t.Params) {
		text, err := json.Marshal(t.Distributions[name])
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT OR IGNORE INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)`, t.ID, name, t.Params[name], string(text)); err != nil {
			return err
		}
	}
	for table, attrs := range map[string]map[string]json.RawMessage{"user": t.UserAttrs, "system": t.SystemAttrs} {
		for _, key := range sorted(attrs) {
			if err := setAttr(tx, table, t.ID, key, attrs[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func setAttr(tx *tx, table string, trial int64, key string, value []byte) error {
	_, err := tx.Exec(`INSERT INTO trial_`+table+`_attributes (trial_id, "key", value_json) VALUES (?, ?, ?) ON CONFLICT (trial_id, "key") DO UPDATE SET value_json = excluded.value_json`, trial, key, string(value))
	return err
}

// Suggest implements study.Storage.
func (d *DB) Suggest(t *study.FrozenTrial) error {
	return d.do(func(tx *tx) error { return writeParams(tx, t) })
}

// Take implements study.Storage.
func (d *DB) Take(t *study.FrozenTrial) (ok bool, err error) {
	err = d.do(func(tx *tx) error {
		r, err := tx.Exec(`UPDATE trials SET state = 'RUNNING', datetime_start = ? WHERE trial_id = ? AND state = 'WAITING'`, timeText(t.Start), t.ID)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if ok = n == 1; !ok || err != nil {
			return err
		}
		return writeParams(tx, t)
	})
	return ok && err == nil, err
}

// numberOf splits a number into what the columns hold.
func numberOf(x float64) (value any, kind string) {
	switch {
	case math.IsNaN(x):
		return nil, "NAN"
	case math.IsInf(x, 1):
		return nil, "INF_POS"
	case math.IsInf(x, -1):
		return nil, "INF_NEG"
	}
	return x, "FINITE"
}

func numberFrom(x sql.NullFloat64, kind string) float64 {
	switch kind {
	case "INF_POS":
		return math.Inf(1)
	case "INF_NEG":
		return math.Inf(-1)
	}
	if !x.Valid {
		return math.NaN()
	}
	return x.Float64
}

func writeReport(tx *tx, trial int64, r study.Reported) error {
	value, kind := numberOf(r.Value)
	_, err := tx.Exec(`INSERT OR IGNORE INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) VALUES (?, ?, ?, ?)`, trial, r.Step, value, kind)
	return err
}

func writeValues(tx *tx, trial int64, values []float64, reports []study.Reported) error {
	for i, x := range values {
		value, kind := numberOf(x)
		if _, err := tx.Exec(`INSERT OR IGNORE INTO trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, ?)`, trial, i, value, kind); err != nil {
			return err
		}
	}
	for _, r := range reports {
		if err := writeReport(tx, trial, r); err != nil {
			return err
		}
	}
	return nil
}

// Report implements study.Storage.
func (d *DB) Report(trial int64, r study.Reported) error {
	return d.do(func(tx *tx) error { return writeReport(tx, trial, r) })
}

func stateOf(tx *tx, trial int64) (state study.State, number int64, err error) {
	err = tx.QueryRow(`SELECT state, number FROM trials WHERE trial_id = ?`, trial).Scan(&state, &number)
	return state, number, err
}

func systemAttr(q querier, trial int64, key string) (text string, err error) {
	err = q.QueryRow(`SELECT value_json FROM trial_system_attributes WHERE trial_id = ? AND "key" = ?`, trial, key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// Finish implements study.Storage.
func (d *DB) Finish(trial int64, r study.Result) error {
	return d.do(func(tx *tx) error { return finish(tx, trial, r, d.now()) })
}

func finish(tx *tx, trial int64, r study.Result, now time.Time) error {
	state, number, err := stateOf(tx, trial)
	if err != nil {
		return err
	}
	digest := r.Digest()
	if state.Finished() {
		return again(tx, trial, number, r, digest)
	}
	if _, err := tx.Exec(`UPDATE trials SET state = ?, datetime_complete = ? WHERE trial_id = ?`, string(r.State), timeText(now), trial); err != nil {
		return err
	}
	if err := writeValues(tx, trial, r.Values, r.Intermediate); err != nil {
		return err
	}
	if r.Reason != "" {
		text, err := json.Marshal(r.Reason)
		if err != nil {
			return err
		}
		if err := setAttr(tx, "user", trial, study.ReasonAttr, text); err != nil {
			return err
		}
	}
	text, err := json.Marshal(digest)
	if err != nil {
		return err
	}
	return setAttr(tx, "system", trial, study.DigestAttr, text)
}

// again holds a second result against the first.
func again(tx *tx, trial, number int64, r study.Result, digest string) error {
	text, err := systemAttr(tx, trial, study.DigestAttr)
	if err != nil {
		return err
	}
	first := ""
	_ = json.Unmarshal([]byte(text), &first) // none, where another program ended the trial
	if first == digest {
		return nil
	}
	values := []any{}
	for _, x := range r.Values {
		v, _ := numberOf(x)
		values = append(values, v)
	}
	conflict, err := json.Marshal(map[string]any{"first": first, "second": digest, "values": values})
	if err != nil {
		return err
	}
	return errors.Join(setAttr(tx, "system", trial, study.ConflictAttr, conflict), &study.Nondeterminism{Number: number, First: first, Second: digest})
}

// SetAttr implements study.Storage.
func (d *DB) SetAttr(s study.StudyID, key string, value json.RawMessage) error {
	return d.do(func(tx *tx) error {
		_, err := tx.Exec(`INSERT INTO study_system_attributes (study_id, "key", value_json) VALUES (?, ?, ?) ON CONFLICT (study_id, "key") DO UPDATE SET value_json = excluded.value_json`, s, key, string(value))
		return err
	})
}

// Attr implements study.Storage.
func (d *DB) Attr(s study.StudyID, key string) (json.RawMessage, error) {
	var text string
	err := d.read.QueryRow(`SELECT value_json FROM study_system_attributes WHERE study_id = ? AND "key" = ?`, s, key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return json.RawMessage(text), err
}

// News implements study.Storage.
func (d *DB) News(s study.StudyID, after int64, listed []int64) ([]*study.FrozenTrial, error) {
	tx, err := d.read.Begin() // all queries see one state
	if err != nil {
		return nil, err
	}
	all, err := news(d.readStatements.of(tx), s, after, listed)
	err = errors.Join(err, tx.Rollback())
	d.readStatements.learn()
	return all, err
}

func news(tx *tx, s study.StudyID, after int64, listed []int64) (all []*study.FrozenTrial, err error) {
	ids, err := json.Marshal(append([]int64{}, listed...))
	if err != nil {
		return nil, err
	}
	const which = `(SELECT trial_id FROM trials WHERE study_id = ?1 AND trial_id > ?2 UNION SELECT value FROM json_each(?3))`
	by := map[int64]*study.FrozenTrial{}
	args := []any{s, after, string(ids)}
	err = each(tx, func(rows *sql.Rows) error {
		t := &study.FrozenTrial{Params: map[string]float64{}, Distributions: map[string]study.Distribution{}, UserAttrs: map[string]json.RawMessage{}, SystemAttrs: map[string]json.RawMessage{}}
		var number sql.NullInt64
		var start, complete sql.NullString
		if err := rows.Scan(&t.ID, &number, &t.State, &start, &complete); err != nil {
			return err
		}
		t.Number, t.Start, t.Complete = number.Int64, timeOf(start), timeOf(complete)
		by[t.ID] = t
		all = append(all, t)
		return nil
	}, `SELECT trial_id, number, state, CAST(datetime_start AS TEXT), CAST(datetime_complete AS TEXT) FROM trials WHERE trial_id IN `+which+` ORDER BY trial_id`, args...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	distributions := map[string]study.Distribution{} // most trials have the same
	if err := each(tx, func(rows *sql.Rows) error {
		var id int64
		var name, text string
		var x sql.NullFloat64
		if err := rows.Scan(&id, &name, &x, &text); err != nil {
			return err
		}
		d, ok := distributions[text]
		if !ok {
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				return fmt.Errorf("trial %d, parameter %s: %w", id, name, err)
			}
			distributions[text] = d
		}
		by[id].Params[name], by[id].Distributions[name] = x.Float64, d
		return nil
	}, `SELECT trial_id, param_name, param_value, distribution_json FROM trial_params WHERE trial_id IN `+which+` ORDER BY trial_id, param_id`, args...); err != nil {
		return nil, err
	}
	if err := each(tx, func(rows *sql.Rows) error {
		var id int64
		var x sql.NullFloat64
		var kind string
		err := rows.Scan(&id, &x, &kind)
		if err == nil {
			by[id].Values = append(by[id].Values, numberFrom(x, kind))
		}
		return err
	}, `SELECT trial_id, value, value_type FROM trial_values WHERE trial_id IN `+which+` ORDER BY trial_id, objective`, args...); err != nil {
		return nil, err
	}
	if err := each(tx, func(rows *sql.Rows) error {
		var id, step int64
		var x sql.NullFloat64
		var kind string
		err := rows.Scan(&id, &step, &x, &kind)
		if err == nil {
			by[id].Intermediate = append(by[id].Intermediate, study.Reported{Step: step, Value: numberFrom(x, kind)})
		}
		return err
	}, `SELECT trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values WHERE trial_id IN `+which+` ORDER BY trial_id, step`, args...); err != nil {
		return nil, err
	}
	for _, table := range []string{"user", "system"} {
		if err := each(tx, func(rows *sql.Rows) error {
			var id int64
			var key, text string
			err := rows.Scan(&id, &key, &text)
			if err != nil {
				return err
			}
			if table == "user" {
				by[id].UserAttrs[key] = json.RawMessage(text)
			} else {
				by[id].SystemAttrs[key] = json.RawMessage(text)
			}
			return nil
		}, `SELECT trial_id, "key", value_json FROM trial_`+table+`_attributes WHERE trial_id IN `+which+` ORDER BY trial_id`, args...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func timeOf(text sql.NullString) time.Time {
	for _, format := range []string{timeFormat, "2006-01-02 15:04:05", time.RFC3339Nano} {
		if t, err := time.ParseInLocation(format, text.String, time.Local); err == nil {
			return t
		}
	}
	return time.Time{}
}
