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

// LastHeartbeat returns the time of the last heartbeat of a running trial of a study; zero if there is none.
func (d *DB) LastHeartbeat(id study.StudyID) (time.Time, error) {
	var text sql.NullString
	if err := d.reads().QueryRow(
		`SELECT CAST(MAX(h.heartbeat) AS TEXT) FROM trial_heartbeats h `+
			`JOIN trials t ON t.trial_id = h.trial_id `+
			`WHERE t.study_id = ? AND t.state = 'RUNNING'`, id).Scan(&text); err != nil {
		return time.Time{}, fmt.Errorf("storage %s: %w", d.at, d.at.explained(err))
	}
	heartbeat, err := time.Parse(timeFormat, text.String)
	if err != nil {
		heartbeat, err = time.Parse("2006-01-02 15:04:05", text.String)
	}
	if err != nil {
		return time.Time{}, nil
	}
	return heartbeat, nil
}
