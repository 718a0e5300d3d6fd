package rdb

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "github.com/ncruces/go-sqlite3/driver" // database/sql's "sqlite3"
)

var sqlite = &dialect{
	schema: schema("INTEGER NOT NULL PRIMARY KEY", "DATETIME", "FLOAT", nil),
	index:  `SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'ix_xlarun_open'`,
	tables: `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('studies', 'trials', 'version_info')`,
	ids:    `SELECT value FROM json_each(?3)`, instant: `?2`,
}

// uri is a file as the driver takes it.
func uri(abs string) string { return "file:" + (&url.URL{Path: abs}).EscapedPath() }

func lookFile(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite3", uri(abs)+"?mode=ro")
}

func (d *DB) openFile() error {
	d.speak = sqlite
	abs, err := folder(d.at.file)
	if err != nil {
		return err
	}
	dsn := uri(abs) + fmt.Sprintf("?_pragma=busy_timeout(%d)&_pragma=synchronous(normal)", busy.Milliseconds())
	if d.write, err = sql.Open("sqlite3", dsn+"&_txlock=immediate"); err != nil {
		return err
	}
	if d.read, err = sql.Open("sqlite3", dsn); err != nil {
		return errors.Join(err, d.write.Close())
	}
	d.write.SetMaxOpenConns(1)
	d.read.SetMaxOpenConns(2)
	// Readers then do not hold up the writer. Where it cannot be had, as beside an open transaction, it goes without.
	_, _ = d.write.Exec(`PRAGMA journal_mode = WAL`)
	return nil
}
