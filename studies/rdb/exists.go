package rdb

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"xlarun/studies/study"
)

// ErrDeleted means that a study was deleted from its database, as Optuna can do.
var ErrDeleted = errors.New("the study was deleted from the database")

// Exists returns ErrDeleted if the study is not in the database any more.
func (d *DB) Exists(id study.StudyID) error {
	n := 0
	if err := d.reads().QueryRow(`SELECT count(*) FROM studies WHERE study_id = ?`, id).Scan(&n); err != nil {
		return fmt.Errorf("storage %s: %w", d.at, d.at.explained(err))
	}
	if n == 0 {
		return fmt.Errorf("storage %s: %w", d.at, ErrDeleted)
	}
	return nil
}

// Heartbeats returns the last heartbeats of the running trials of a study.
func (d *DB) Heartbeats(id study.StudyID) (map[int64]time.Time, error) {
	all := map[int64]time.Time{}
	err := each(d.reads(), func(rows *sql.Rows) error {
		var trial int64
		var text string
		if err := rows.Scan(&trial, &text); err != nil {
			return err
		}
		at, err := time.Parse(timeFormat, text)
		if err != nil {
			at, err = time.Parse("2006-01-02 15:04:05", text)
		}
		if err == nil {
			all[trial] = at
		}
		return nil
	}, `SELECT h.trial_id, CAST(h.heartbeat AS TEXT) FROM trial_heartbeats h JOIN trials t ON t.trial_id = h.trial_id `+
		`WHERE t.study_id = ? AND t.state = 'RUNNING'`, id)
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", d.at, d.at.explained(err))
	}
	return all, nil
}
