// Package rdb stores studies in a database with the schema of Optuna (version 12, of Optuna 5.0): an SQLite file or a
// database of a PostgreSQL server. Optuna, its dashboard and this program can use the same database at the same time.
package rdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"xlarun/studies/study"
)

// DB is a study.Storage in a database. Several processes may have the same one open.
type DB struct {
	at      address
	dialect *dialect
	write   *sql.DB // one connection, which holds the lock of Lock
	read    *sql.DB
	over    sync.WaitGroup
	now     func() time.Time
	// lockWait is how long Lock waits for a lock: the server may take a moment to free that of a process that ended.
	lockWait time.Duration

	abs    string      // of a file, its path
	file   os.FileInfo // as it was opened
	copied string      // of one that is looked at: the folder of its copy

	queue  chan request // nil if the storage was opened to be looked at
	closed bool         // the queue is closed
	queued sync.RWMutex // held to send to the queue and, alone, to close it

	mu     sync.Mutex
	locked string // the study of Lock

	writeStatements, readStatements statements
}

var _ study.Storage = (*DB)(nil)

// dialect holds what differs between SQLite and PostgreSQL.
type dialect struct {
	schema    []string            // statements that make the tables
	tables    string              // counts those of three tables that are there
	index     string              // counts the index of open trials
	ids       string              // the trials of a JSON list, the third argument
	forUpdate string              // ends a query whose rows no other may change until the commit
	instant   string              // a time that is the second argument
	snapshot  sql.TxOptions       // of a transaction whose queries see one state
	bind      func(string) string // a statement's text as the driver takes it; nil: as it is
	retry     func(error) bool    // whether a transaction has to run again
}

type request struct {
	op   func(*tx) error
	done chan error
}

// busy is how long a process waits for a write of another one, which may be stopped while it holds the lock.
const busy = 5 * time.Minute

// HasStudies reports whether the database at an address has the tables of studies. It changes nothing.
func HasStudies(storage string) (bool, error) {
	a, err := parse(storage)
	if err != nil {
		return false, err
	}
	if a.file != "" {
		if _, err := os.Stat(a.file); errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
	}
	db, dialect, err := a.look()
	if err != nil {
		return false, err
	}
	tables := 0
	err = db.QueryRow(dialect.tables).Scan(&tables)
	if a.file != "" {
		err = nil // what is no database has no tables
	}
	return err == nil && tables == 3, errors.Join(a.explained(err), db.Close())
}

// Open opens a storage, or makes it: sqlite:///relative/path, sqlite:////absolute/path, a path, or
// postgresql://USER:PASSWORD@HOST:PORT/DATABASE. The database of a server has to exist. Errors do not contain the
// password.
func Open(storage string) (*DB, error) {
	a, err := parse(storage)
	if err != nil {
		return nil, err
	}
	d := &DB{at: a, queue: make(chan request, 1024), now: time.Now, lockWait: time.Second}
	if a.file == "" {
		d.openServer()
	} else if err := d.openFile(); err != nil {
		return nil, err
	}
	if err := d.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("storage %s: %w", a, a.explained(err)), d.write.Close(), d.read.Close())
	}
	d.writeStatements.db, d.readStatements.db = d.write, d.read
	d.writeStatements.bind, d.readStatements.bind = d.dialect.bind, d.dialect.bind
	d.over.Go(d.writes)
	return d, nil
}

func (d *DB) start() error {
	tx, err := d.write.Begin()
	if err != nil {
		return err
	}
	if err := prepare(tx, d.dialect, d.at.String()); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil || d.abs == "" {
		return err
	}
	d.file, err = os.Stat(d.abs)
	return err
}

// Close waits until everything is written. Later writes return ErrClosed.
func (d *DB) Close() error {
	if d.queue == nil { // it was looked at
		var err error
		if d.read != nil {
			err = d.read.Close()
		}
		if d.copied != "" {
			err = errors.Join(err, os.RemoveAll(d.copied))
		}
		return err
	}
	d.queued.Lock()
	if !d.closed {
		d.closed = true
		close(d.queue)
	}
	d.queued.Unlock()
	d.over.Wait()
	return errors.Join(d.write.Close(), d.read.Close())
}

// String returns the address of the storage without its password.
func (d *DB) String() string { return d.at.String() }

// Ping returns nil if the storage answers and, if it is locked, still holds its lock.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.there(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := d.write.PingContext(ctx)
	for range 2 { // what is found dead is replaced by the next
		if errors.Is(err, driver.ErrBadConn) {
			err = d.write.PingContext(ctx)
		}
	}
	return d.at.explained(err)
}

// patience is how long a server may take to answer.
const patience = 10 * time.Second

// folder makes the folder of a file.
func folder(path string) (abs string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
