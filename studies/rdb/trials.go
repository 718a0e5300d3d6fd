package rdb

import (
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"xlarun/studies/study"
)

// timeFormat is the format of Optuna, in local time.
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
		// Adding trials locks the study, as in Optuna: IDs rise in the order of the commits, and no two trials have
		// a number.
		var id study.StudyID
		if err := tx.QueryRow(`SELECT study_id FROM studies WHERE study_id = ?`+d.dialect.forUpdate, s).Scan(
			&id); err !=
			nil {
			return err
		}
		next := int64(0)
		// The cast keeps SQLite from preparing the statement anew for each value: its planner looks at bare arguments
		// that stand beside an index.
		err := tx.QueryRow(
			`SELECT number + 1 FROM trials WHERE study_id = CAST(? AS BIGINT) ORDER BY trial_id DESC LIMIT 1`, s).Scan(
			&next)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if want >= 0 && next != want {
			return study.ErrMoved
		}
		return addTrials(tx, s, next, trials)
	})
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Suggest implements study.Storage.
func (d *DB) Suggest(t *study.FrozenTrial) error {
	return d.do(func(tx *tx) error { return writeParams(tx, t) })
}

// Take implements study.Storage.
func (d *DB) Take(t *study.FrozenTrial) (ok bool, err error) {
	err = d.do(func(tx *tx) error {
		r, err := tx.Exec(
			`UPDATE trials SET state = 'RUNNING', datetime_start = ? WHERE trial_id = ? AND state = 'WAITING'`,
			timeText(t.Start), t.ID)
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

// numberOf returns a number as the columns hold it.
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

// Report implements study.Storage.
func (d *DB) Report(trial int64, r study.Reported) error {
	return d.do(func(tx *tx) error {
		var n numbers
		n.add(trial, nil, []study.Reported{r})
		return n.write(tx)
	})
}

func timeOf(text sql.NullString) time.Time {
	for _, format := range []string{timeFormat, "2006-01-02 15:04:05", time.RFC3339Nano} {
		if t, err := time.ParseInLocation(format, text.String, time.Local); err == nil {
			return t
		}
	}
	return time.Time{}
}
