package rdb

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // database/sql's "sqlite3"
)

var sqlite = &dialect{
	schema: schema("INTEGER NOT NULL PRIMARY KEY", "DATETIME", "FLOAT", nil),
	index:  `SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'ix_xlarun_open'`,
	tables: `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('studies', 'trials', 'version_info')`,
	ids:    `SELECT value FROM json_each(?3)`, instant: `?2`,
}

// uri returns the URI of a file for the driver.
func uri(abs string) string { return "file:" + (&url.URL{Path: abs}).EscapedPath() }

func lookFile(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite3", uri(abs)+"?mode=ro")
}

func (d *DB) openFile() error {
	d.dialect = sqlite
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
	// In WAL mode readers do not block the writer. If it is not available, as during an open transaction, it works
	// without.
	if _, err := d.write.Exec(`PRAGMA journal_mode = WAL`); errors.Is(err, sqlite3.NOTADB) {
		return errors.Join(fmt.Errorf("%s holds something else than an SQLite database: give another path", d.at.file),
			d.read.Close(), d.write.Close())
	}
	d.abs = abs
	return nil
}

// ErrGone means that the file of a storage was removed or replaced.
var ErrGone = errors.New("the file was removed or replaced while it was in use: what is written goes nowhere")

// there returns ErrGone if the file of a storage is gone. SQLite does not notice: it would go on writing to a file that
// nobody can open.
func (d *DB) there() error {
	if d.file == nil {
		return nil
	}
	now, err := os.Stat(d.abs)
	if err == nil && os.SameFile(now, d.file) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s: %w", d.abs, ErrGone)
}
