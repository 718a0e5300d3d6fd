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

// ErrNoStudies tells that what is at an address is no database of studies.
var ErrNoStudies = errors.New("it is no database of studies")

// errLooking is what writes come to in a storage that Look opened.
var errLooking = errors.New("the storage was opened to be looked at")

// Look opens a storage that is there, to be read: nothing is changed, and a file may be on media that cannot be written to.
// ErrNoStudies: it has no room for studies.
func Look(at string) (*DB, error) {
	a, err := parse(at)
	if err != nil {
		return nil, err
	}
	if a.file == "" {
		holds, err := Holds(at)
		if err != nil {
			return nil, err
		}
		if !holds {
			return nil, fmt.Errorf("%s: %w", a, ErrNoStudies)
		}
		return Open(at)
	}
	d := &DB{at: a, speak: sqlite, now: time.Now}
	if err := d.lookAt(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// lookAt opens a file for reading, by the first way that works.
func (d *DB) lookAt() error {
	f, err := os.Open(d.at.file)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", d.at.file, errors.Unwrap(err))
	}
	_ = f.Close() // nothing was written
	abs, err := filepath.Abs(d.at.file)
	if err != nil {
		return err
	}
	// One that may write takes the files beside it away again, in which readers meet writers; mode=ro leaves them.
	first := d.lookBy(abs, "?mode=rw&_pragma=query_only(1)")
	if first == nil || errors.Is(first, ErrNoStudies) {
		return first
	}
	// A file that was written with a log beside it wants that to be made again, which media that cannot be written to refuse.
	if !unfinished(abs) {
		if d.lookBy(abs, "?mode=ro&immutable=1") == nil {
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
	return d.lookBy(copied, "?mode=rw")
}

// lookBy opens a file in a way and reads something of it.
func (d *DB) lookBy(abs, how string) error {
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

// beside are the endings of files in which SQLite has what a file does not have yet, or is to have no more.
var beside = []string{"-wal", "-journal"}

// unfinished tells whether there is something in one of them.
func unfinished(path string) bool {
	for _, end := range beside {
		if info, err := os.Stat(path + end); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// copySettled copies a file and what is beside it, as they are between two writes of somebody else.
func copySettled(from, to string) error {
	for range 20 {
		before := stamp(from)
		for _, end := range append([]string{""}, beside...) {
			if err := copyFile(from+end, to+end); err != nil && (end == "" || !errors.Is(err, os.ErrNotExist)) {
				return err
			}
		}
		if stamp(from) == before {
			return nil
		}
		for _, end := range beside {
			_ = os.Remove(to + end) // it may not be there
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s is written to all the time: look at it where its folder may be written to", from)
}

// stamp says when a file and what is beside it were written.
func stamp(path string) (all string) {
	for _, end := range append([]string{""}, beside...) {
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
