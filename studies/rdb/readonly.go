package rdb

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// ErrNoStudies means that there is no database of studies at an address.
var ErrNoStudies = errors.New("it is no database of studies")

// errReadOnly is the error of writes to a storage that OpenReadOnly opened.
var errReadOnly = errors.New("the storage was opened to be looked at")

// OpenReadOnly opens an existing storage for reading. It changes nothing, and a file may be on read-only media. The
// error is ErrNoStudies if it has no tables of studies.
func OpenReadOnly(storage string) (*DB, error) {
	a, err := parse(storage)
	if err != nil {
		return nil, err
	}
	if a.file == "" {
		holds, err := HasStudies(storage)
		if err != nil {
			return nil, err
		}
		if !holds {
			return nil, fmt.Errorf("%s: %w", a, ErrNoStudies)
		}
		return Open(storage)
	}
	d := &DB{at: a, dialect: sqlite, now: time.Now}
	if err := d.openReadOnly(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// IsDamaged reports whether an error means that the file of a storage is damaged or cut.
func IsDamaged(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}

// openReadOnly opens a file for reading, in the first way that works.
func (d *DB) openReadOnly() error {
	f, err := os.Open(d.at.file)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", d.at.file, errors.Unwrap(err))
	}
	info, err := f.Stat()
	_ = f.Close() // nothing was written
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: %w", d.at.file, ErrNoStudies)
	}
	abs, err := filepath.Abs(d.at.file)
	if err != nil {
		return err
	}
	// A connection that may write removes the -wal and -shm files at its end; with mode=ro they would stay.
	first := d.tryReadOnly(abs, "?mode=rw&_pragma=query_only(1)")
	if first == nil || errors.Is(first, ErrNoStudies) {
		return first
	}
	// A file in WAL mode needs its log again, which read-only media do not allow.
	if !unfinished(abs) {
		if d.tryReadOnly(abs, "?mode=ro&immutable=1") == nil {
			return nil
		}
		return first
	}
	if d.copied, err = os.MkdirTemp("", "xlarun-look"); err != nil {
		return errors.Join(first, err)
	}
	copied := filepath.Join(d.copied, "study.db")
	if err := copySettled(abs, copied); err != nil {
		return errors.Join(first, err)
	}
	return d.tryReadOnly(copied, "?mode=rw")
}

// tryReadOnly opens a file in one way and reads something from it.
func (d *DB) tryReadOnly(abs, how string) error {
	db, err := sql.Open("sqlite3", uri(abs)+how+fmt.Sprintf("&_pragma=busy_timeout(%d)", busy.Milliseconds()))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(2)
	tables := 0
	err = db.QueryRow(sqlite.tables).Scan(&tables)
	if errors.Is(err, sqlite3.NOTADB) || err == nil && tables != 3 {
		err = fmt.Errorf("%s: %w", d.at.file, ErrNoStudies)
	}
	if err == nil {
		err = checkVersion(db.QueryRow, d.at.String())
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	d.read, d.write = db, db
	d.readStatements.db, d.writeStatements.db = db, db
	return nil
}

// sideFiles are the endings of SQLite's log and journal.
var sideFiles = []string{"-wal", "-journal"}

// unfinished reports whether the log or the journal of a file has content.
func unfinished(path string) bool {
	for _, end := range sideFiles {
		if info, err := os.Stat(path + end); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// copySettled copies a file and its log, both as they are between two writes.
func copySettled(from, to string) error {
	for range 20 {
		before := stamp(from)
		for _, end := range append([]string{""}, sideFiles...) {
			if err := copyFile(from+end, to+end); err != nil && (end == "" || !errors.Is(err, os.ErrNotExist)) {
				return err
			}
		}
		if stamp(from) == before {
			return nil
		}
		for _, end := range sideFiles {
			_ = os.Remove(to + end) // it may not be there
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s is written to all the time: look at it where its folder may be written to", from)
}

// stamp returns sizes and times of a file and its log.
func stamp(path string) (all string) {
	for _, end := range append([]string{""}, sideFiles...) {
		if info, err := os.Stat(path + end); err == nil {
			all += fmt.Sprint(end, info.Size(), info.ModTime().UnixNano(), ";")
		}
	}
	return all
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
