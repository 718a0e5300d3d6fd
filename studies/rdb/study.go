package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"xlarun/studies/study"
)

// Open implements study.Storage.
func (d *DB) Open(name string, directions []study.Direction) (id study.StudyID, err error) {
	if d.queue == nil { // it is looked at
		return d.lookFor(name, directions)
	}
	err = d.do(func(tx *tx) error {
		if id, err = find(tx, name); err == nil && id == 0 {
			// Another process may make it at the same time: then this waits for that one, and no row comes back.
			err = tx.QueryRow(`INSERT INTO studies (study_name) VALUES (?) ON CONFLICT DO NOTHING RETURNING study_id`,
				name).Scan(&id)
			if err == nil {
				return insertDirections(tx, id, directions)
			}
			if errors.Is(err, sql.ErrNoRows) {
				id, err = find(tx, name)
			}
		}
		if err != nil {
			return err
		}
		stored, err := directionsOf(tx, id)
		if err != nil {
			return err
		}
		return study.CheckDirections(name, stored, directions)
	})
	return id, err
}

func insertDirections(tx *tx, id study.StudyID, directions []study.Direction) error {
	for i, direction := range directions {
		_, err := tx.Exec(`INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)`,
			string(direction), id, i)
		if err != nil {
			return err
		}
	}
	return nil
}

// lookFor finds an existing study.
func (d *DB) lookFor(name string, directions []study.Direction) (study.StudyID, error) {
	id, err := find(d.reads(), name)
	if err == nil && id == 0 {
		err = fmt.Errorf("storage %s has no study %s", d.at, name)
	}
	if err != nil {
		return 0, err
	}
	stored, err := directionsOf(d.reads(), id)
	if err != nil {
		return 0, err
	}
	return id, study.CheckDirections(name, stored, directions)
}

// reads returns a reader outside of transactions.
func (d *DB) reads() querier { return reader{d.read, d.dialect.bind} }

type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// find returns the study of a name, 0 if there is none.
func find(q querier, name string) (id study.StudyID, err error) {
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

// Studies returns the names of the studies and their directions.
func (d *DB) Studies() (names []string, directions map[string][]study.Direction, err error) {
	ids := map[string]study.StudyID{}
	err = each(d.reads(), func(rows *sql.Rows) error {
		var name string
		var id study.StudyID
		err := rows.Scan(&name, &id)
		names, ids[name] = append(names, name), id
		return err
	}, `SELECT study_name, study_id FROM studies ORDER BY study_id`)
	directions = map[string][]study.Direction{}
	for _, name := range names {
		if err == nil {
			directions[name], err = directionsOf(d.reads(), ids[name])
		}
	}
	return names, directions, err
}

// each calls take with each row.
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

// SetAttr implements study.Storage.
func (d *DB) SetAttr(s study.StudyID, key string, value json.RawMessage) error {
	return d.do(func(tx *tx) error {
		_, err := tx.Exec(
			`INSERT INTO study_system_attributes (study_id, "key", value_json) `+
				`VALUES (?, ?, ?) `+
				`ON CONFLICT (study_id, "key") DO UPDATE SET value_json = excluded.value_json`, s, key, string(value))
		return err
	})
}

// Attr implements study.Storage.
func (d *DB) Attr(s study.StudyID, key string) (json.RawMessage, error) {
	var text string
	err := d.reads().QueryRow(`SELECT value_json FROM study_system_attributes WHERE study_id = ? AND "key" = ?`, s,
		key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return json.RawMessage(text), err
}
