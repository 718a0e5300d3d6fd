package rdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"xlarun/studies/study"
)

// largestGroup is the highest number of requests in one commit.
const largestGroup = 512

// tries is how often a group runs that the database could not order with other transactions.
const tries = 20

// writes commits requests. Those that wait at the same time share a transaction: a commit costs the same for one or
// many.
func (d *DB) writes() {
	for first := range d.queue {
		group := []request{first}
		for len(group) < largestGroup {
			select {
			case r, ok := <-d.queue:
				if ok {
					group = append(group, r)
					continue
				}
			default:
			}
			break
		}
		results := d.commit(group)
		d.writeStatements.learn()
		for i, err := range results {
			group[i].done <- err
		}
	}
}

// commit runs requests in one transaction. A request that fails is rolled back, and the others stay.
func (d *DB) commit(group []request) (results []error) {
	for try := range tries {
		results = d.attempt(group)
		if d.dialect.retry == nil || !d.dialect.retry(errors.Join(results...)) {
			break
		}
		time.Sleep(rand.N(time.Duration(try+1) * 5 * time.Millisecond)) // the others get on meanwhile
	}
	return results
}

func (d *DB) attempt(group []request) []error {
	results := make([]error, len(group))
	all := func(err error) []error {
		err = fmt.Errorf("storage %s: %w", d.at, d.at.explained(err))
		for i := range results {
			results[i] = errors.Join(results[i], err)
		}
		return results
	}
	if err := d.there(); err != nil {
		return all(err)
	}
	tx, err := d.write.Begin()
	if err != nil {
		return all(err)
	}
	statements := d.writeStatements.within(tx)
	for i, r := range group {
		if len(group) == 1 {
			if results[i] = r.op(statements); undoes(results[i]) {
				results[i] = errors.Join(results[i], tx.Rollback())
				return results
			}
			break
		}
		if _, err := statements.Exec(`SAVEPOINT one`); err != nil {
			return all(errors.Join(err, tx.Rollback()))
		}
		results[i] = r.op(statements)
		if undoes(results[i]) {
			if d.dialect.retry != nil && d.dialect.retry(results[i]) {
				return all(errors.Join(results[i], tx.Rollback()))
			}
			if _, err := statements.Exec(`ROLLBACK TO one`); err != nil {
				return all(errors.Join(err, tx.Rollback()))
			}
		}
		if _, err := statements.Exec(`RELEASE one`); err != nil {
			return all(errors.Join(err, tx.Rollback()))
		}
	}
	if err := tx.Commit(); err != nil {
		return all(err)
	}
	return results
}

// undoes reports whether an error rolls back its request.
func undoes(err error) bool {
	_, conflict := errors.AsType[*study.Nondeterminism](err)
	return err != nil && !conflict
}

// do commits a request. op may run more than once until one run is committed.
func (d *DB) do(op func(*tx) error) error {
	if d.queue == nil {
		return fmt.Errorf("storage %s: %w", d.at, errReadOnly)
	}
	r := request{op, make(chan error, 1)}
	if !d.send(r) {
		return fmt.Errorf("storage %s: %w", d.at, ErrClosed)
	}
	return <-r.done
}

// send puts a request into the queue. It returns false after Close.
func (d *DB) send(r request) bool {
	d.queued.RLock()
	defer d.queued.RUnlock()
	if d.closed {
		return false
	}
	d.queue <- r
	return true
}

// ErrClosed is the error of a write after Close.
var ErrClosed = errors.New("the storage is closed")
