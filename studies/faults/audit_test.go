package faults

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"       // database/sql's "pgx"
	_ "github.com/ncruces/go-sqlite3/driver" // database/sql's "sqlite3"
	"github.com/stretchr/testify/require"

	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// The database itself records each change of a trial's state in a table of its own.
const auditTable = `CREATE TABLE audit (n %s, trial INTEGER, was VARCHAR(16), state VARCHAR(16))`

var auditSQLite = []string{
	fmt.Sprintf(auditTable, "INTEGER PRIMARY KEY AUTOINCREMENT"),
	`CREATE TRIGGER audit_insert AFTER INSERT ON trials BEGIN
		INSERT INTO audit (trial, was, state) VALUES (NEW.trial_id, '', NEW.state); END`,
	`CREATE TRIGGER audit_update AFTER UPDATE OF state ON trials BEGIN
		INSERT INTO audit (trial, was, state) VALUES (NEW.trial_id, OLD.state, NEW.state); END`,
	`CREATE TRIGGER audit_delete AFTER DELETE ON trials BEGIN
		INSERT INTO audit (trial, was, state) VALUES (OLD.trial_id, OLD.state, ''); END`,
}

var auditServer = []string{
	fmt.Sprintf(auditTable, "SERIAL PRIMARY KEY"),
	`CREATE FUNCTION audit() RETURNS trigger AS $$ BEGIN
		IF TG_OP = 'INSERT' THEN INSERT INTO audit (trial, was, state) VALUES (NEW.trial_id, '', NEW.state::text);
		ELSIF TG_OP = 'DELETE' THEN INSERT INTO audit (trial, was, state) VALUES (OLD.trial_id, OLD.state::text, '');
		ELSE INSERT INTO audit (trial, was, state) VALUES (NEW.trial_id, OLD.state::text, NEW.state::text);
		END IF; RETURN NULL; END $$ LANGUAGE plpgsql`,
	`CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF state ON trials FOR EACH ROW EXECUTE FUNCTION audit()`,
}

// audited makes the tables of a storage, and has its database record changes.
func audited(t *testing.T, storage string) {
	t.Helper()
	d, err := rdb.Open(storage)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	db, server := opened(t, storage)
	statements := auditSQLite
	if server {
		statements = auditServer
	}
	for _, s := range statements {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
}

// opened opens the database of a storage.
func opened(t *testing.T, storage string) (db *sql.DB, server bool) {
	t.Helper()
	var err error
	if path, file := strings.CutPrefix(storage, "sqlite:///"); file {
		db, err = sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(60000)")
	} else {
		server = true
		db, err = sql.Open("pgx", storage)
	}
	require.NoError(t, err)
	return db, server
}

// changes reads what the database has recorded.
func changes(t *testing.T, storage string) (all []change) {
	t.Helper()
	db, _ := opened(t, storage)
	rows, err := db.Query(`SELECT trial, was, state FROM audit ORDER BY n`)
	require.NoError(t, err)
	for rows.Next() {
		var c change
		require.NoError(t, rows.Scan(&c.Trial, &c.From, &c.To))
		all = append(all, c)
	}
	require.NoError(t, errors.Join(rows.Err(), rows.Close(), db.Close()))
	return all
}

// results returns a line for each trial of a study: its state, values, parameters and reports, to the bit.
func results(t *testing.T, storage string, s *studies.Spec) (lines []string) {
	t.Helper()
	d, err := rdb.Open(storage)
	require.NoError(t, err)
	st, err := study.New(s.Name, study.Options{Storage: d, Directions: s.Directions(), Sampler: study.Random{}})
	require.NoError(t, err)
	trials, err := st.Trials()
	require.NoError(t, err)
	require.NoError(t, d.Close())
	for _, x := range trials {
		lines = append(lines, fmt.Sprintf("%d %s %x x=%x y=%x %x %s %s%s", x.Number, x.State, x.Values,
			math.Float64bits(x.Params["x"]), math.Float64bits(x.Params["y"]), x.Intermediate, studies.Reason(x),
			x.SystemAttrs[study.DigestAttr], x.SystemAttrs[study.ConflictAttr]))
	}
	return lines
}
