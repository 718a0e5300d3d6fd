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
	if _, err := d.write.Exec(`PRAGMA journal_mode = WAL`); errors.Is(err, sqlite3.NOTADB) {
		return errors.Join(fmt.Errorf("%s holds something else than an SQLite database: give another path", d.at.file), d.read.Close(), d.write.Close())
	}
	d.abs = abs
	return nil
}

// ErrGone is what a storage's calls come to whose file is not where it was.
var ErrGone = errors.New("the file was removed or replaced while it was in use: what is written goes nowhere")

// there is ErrGone where a storage's file has gone, which SQLite does not notice: it would write on into what nobody can open.
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
