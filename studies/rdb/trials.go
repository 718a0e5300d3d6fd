package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"xlarun/rollout/study"
)

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
		// Who adds trials locks the study, as Optuna does: IDs rise in the order of the commits, and no two trials have a number.
		var id study.StudyID
		if err := tx.QueryRow(`SELECT study_id FROM studies WHERE study_id = ?`+d.speak.forUpdate, s).Scan(&id); err != nil {
			return err
		}
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
			err := tx.QueryRow(`INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, ?) RETURNING trial_id`,
				number, s, string(t.State), timeText(t.Start), timeText(t.Complete)).Scan(&t.ID)
			if err != nil {
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
		if _, err := tx.Exec(`INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, t.ID, name, t.Params[name], string(text)); err != nil {
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
	_, err := tx.Exec(`INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, trial, r.Step, value, kind)
	return err
}

func writeValues(tx *tx, trial int64, values []float64, reports []study.Reported) error {
	for i, x := range values {
		value, kind := numberOf(x)
		if _, err := tx.Exec(`INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, trial, i, value, kind); err != nil {
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

// stateOf is how far a trial is; no other changes it before this transaction is over.
func stateOf(tx *tx, speak *dialect, trial int64) (state study.State, number int64, err error) {
	err = tx.QueryRow(`SELECT state, number FROM trials WHERE trial_id = ?`+speak.forUpdate, trial).Scan(&state, &number)
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
	return d.do(func(tx *tx) error { return finish(tx, d.speak, trial, r, d.now()) })
}

func finish(tx *tx, speak *dialect, trial int64, r study.Result, now time.Time) error {
	state, number, err := stateOf(tx, speak, trial)
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

func timeOf(text sql.NullString) time.Time {
	for _, format := range []string{timeFormat, "2006-01-02 15:04:05", time.RFC3339Nano} {
		if t, err := time.ParseInLocation(format, text.String, time.Local); err == nil {
			return t
		}
	}
	return time.Time{}
}
