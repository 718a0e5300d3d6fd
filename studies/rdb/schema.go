package rdb

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// Version of the schema, the version of Optuna that has it, and the revision that its migrations know it by.
const (
	schemaVersion  = 12
	libraryVersion = "5.0.0"
	revision       = "v3.2.0.a"
)

// schema returns the statements that make the tables as Optuna 5.0 does. Arguments are the types of keys, times and
// numbers, and the names of enumerated types (nil: they are texts).
func schema(key, instant, number string, enums map[string]string) (all []string) {
	enum := func(name string, width int) string {
		if enums == nil {
			return fmt.Sprintf("VARCHAR(%d)", width)
		}
		return name
	}
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		all = append(all, fmt.Sprintf(`CREATE TYPE %s AS ENUM (%s)`, name, enums[name]))
	}
	// attribute is the shape of the four tables of attributes.
	attribute := func(table, owner, owners string) string {
		return fmt.Sprintf(
			`CREATE TABLE %s_attributes (%[1]s_attribute_id %[4]s, %[2]s INTEGER REFERENCES %[3]s (%[2]s),
		"key" VARCHAR(512), value_json TEXT, UNIQUE (%[2]s, "key"))`, table, owner, owners, key)
	}
	return append(all,
		`CREATE TABLE studies (study_id `+key+`, study_name VARCHAR(512) NOT NULL)`,
		`CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name)`,
		`CREATE TABLE version_info (version_info_id INTEGER NOT NULL PRIMARY KEY CHECK (version_info_id = 1), `+
			`schema_version INTEGER, library_version VARCHAR(256))`,
		`CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, `+
			`CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))`,
		`CREATE TABLE study_directions (study_direction_id `+key+`, direction `+enum("studydirection", 8)+` NOT NULL,
		study_id INTEGER NOT NULL REFERENCES studies (study_id), objective INTEGER NOT NULL,
		UNIQUE (study_id, objective))`,
		attribute("study_user", "study_id", "studies"),
		attribute("study_system", "study_id", "studies"),
		`CREATE TABLE trials (trial_id `+key+`, number INTEGER, study_id INTEGER REFERENCES studies (study_id),
		state `+enum("trialstate", 8)+` NOT NULL, datetime_start `+instant+`, datetime_complete `+instant+`)`,
		`CREATE INDEX ix_trials_study_id ON trials (study_id)`,
		attribute("trial_user", "trial_id", "trials"),
		attribute("trial_system", "trial_id", "trials"),
		`CREATE TABLE trial_params (param_id `+key+
			`, trial_id INTEGER REFERENCES trials (trial_id), param_name VARCHAR(512),
		param_value `+number+`, distribution_json TEXT, UNIQUE (trial_id, param_name))`,
		`CREATE TABLE trial_values (trial_value_id `+key+`, trial_id INTEGER NOT NULL REFERENCES trials (trial_id),
		objective INTEGER NOT NULL, value `+number+`, value_type `+enum("trialvaluetype", 7)+
			` NOT NULL, UNIQUE (trial_id, objective))`,
		`CREATE TABLE trial_intermediate_values (trial_intermediate_value_id `+key+
			`, trial_id INTEGER NOT NULL REFERENCES trials (trial_id),
		step INTEGER NOT NULL, intermediate_value `+number+`, intermediate_value_type `+
			enum("trialintermediatevaluetype", 7)+` NOT NULL, UNIQUE (trial_id, step))`,
		`CREATE TABLE trial_heartbeats (trial_heartbeat_id `+key+
			`, trial_id INTEGER NOT NULL REFERENCES trials (trial_id),
		heartbeat `+instant+` NOT NULL, UNIQUE (trial_id))`,
	)
}

// openIndex is an index of ours for open trials: finding them costs the same in a study of many trials.
const openIndex = `CREATE INDEX IF NOT EXISTS ix_xlarun_open ON trials (study_id) WHERE state IN ('RUNNING', 'WAITING')`

// prepare makes the tables if there are none. It returns an error if they are of another version.
func prepare(tx *sql.Tx, dialect *dialect, storage string) error {
	if dialect == postgres { // one process at a time
		if _, err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtextextended('xlarun schema', 0))`); err != nil {
			return err
		}
	}
	var n int
	if err := tx.QueryRow(dialect.tables).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		for _, q := range dialect.schema {
			if _, err := tx.Exec(q); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(fmt.Sprintf(`INSERT INTO version_info VALUES (1, %d, '%s')`, schemaVersion,
			libraryVersion)); err != nil {
			return err
		}
		if _, err := tx.Exec(fmt.Sprintf(`INSERT INTO alembic_version VALUES ('%s')`, revision)); err != nil {
			return err
		}
	}
	if err := checkVersion(tx.QueryRow, storage); err != nil {
		return err
	}
	// Look for the index first: making it, even if it exists, needs a right and a lock that readers do not have.
	if err := tx.QueryRow(dialect.index).Scan(&n); err != nil || n > 0 {
		return err
	}
	_, err := tx.Exec(openIndex)
	return err
}

// checkVersion returns an error if the tables are of another version.
func checkVersion(row func(query string, args ...any) *sql.Row, storage string) error {
	var version int64
	var library string
	if err := row(`SELECT schema_version, library_version FROM version_info`).Scan(&version, &library); err != nil {
		return err
	}
	if version != schemaVersion {
		return fmt.Errorf("%s has version %d of Optuna's schema (of Optuna %s), want version %d: bring it there with "+
			"`optuna storage upgrade` of Optuna %s", storage, version, library, schemaVersion, libraryVersion)
	}
	return nil
}
