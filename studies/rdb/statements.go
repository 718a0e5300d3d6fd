package rdb

import (
	"database/sql"
	"sync"
)

// statements keeps prepared statements: preparing one takes SQLite longer than running it. A driver with its own
// numbering of arguments prepares statements itself.
type statements struct {
	db    *sql.DB
	bind  func(string) string
	mu    sync.Mutex
	all   map[string]*sql.Stmt // by text
	bound map[string]string    // texts as the driver takes them
	new   map[string]bool      // texts that were run without
}

// learn prepares the statements that have run since the last call. It needs a connection: the caller may have no open
// transaction.
func (s *statements) learn() {
	s.mu.Lock()
	texts := s.new
	s.new = nil
	s.mu.Unlock()
	for text := range texts {
		p, err := s.db.Prepare(text) // transactions that hold the connections need the lock
		if err != nil {
			continue
		}
		s.mu.Lock()
		if s.all == nil {
			s.all = map[string]*sql.Stmt{}
		}
		if s.all[text] == nil {
			s.all[text], p = p, nil
		}
		s.mu.Unlock()
		if p != nil {
			_ = p.Close()
		}
	}
}

// within returns a transaction with prepared statements.
func (s *statements) within(t *sql.Tx) *tx { return &tx{tx: t, by: s, own: map[string]*sql.Stmt{}} }

// tx is a transaction with prepared statements.
type tx struct {
	tx *sql.Tx
	by *statements
	// texts that ran in it, nil where they ran once: a second time they are prepared for the transaction alone
	own map[string]*sql.Stmt
}

// prepared returns a prepared statement, or nil.
func (t *tx) prepared(text string) *sql.Stmt {
	inTx, ran := t.own[text]
	if inTx != nil || t.by.bind != nil {
		return inTx
	}
	t.by.mu.Lock()
	statement := t.by.all[text]
	if statement == nil {
		if t.by.new == nil {
			t.by.new = map[string]bool{}
		}
		t.by.new[text] = true
	}
	t.by.mu.Unlock()
	switch {
	case statement != nil:
		inTx = t.tx.Stmt(statement)
	case ran:
		inTx, _ = t.tx.Prepare(text) // where it cannot be, to run it says why
	}
	t.own[text] = inTx
	return inTx
}

// Exec runs a statement.
func (t *tx) Exec(text string, args ...any) (sql.Result, error) {
	if s := t.prepared(text); s != nil {
		return s.Exec(args...)
	}
	return t.tx.Exec(t.by.text(text), args...)
}

// Query implements querier.
func (t *tx) Query(text string, args ...any) (*sql.Rows, error) {
	if s := t.prepared(text); s != nil {
		return s.Query(args...)
	}
	return t.tx.Query(t.by.text(text), args...)
}

// QueryRow implements querier.
func (t *tx) QueryRow(text string, args ...any) *sql.Row {
	if s := t.prepared(text); s != nil {
		return s.QueryRow(args...)
	}
	return t.tx.QueryRow(t.by.text(text), args...)
}

// text returns a statement for the driver.
func (s *statements) text(text string) string {
	if s.bind == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bound, ok := s.bound[text]
	if !ok {
		if s.bound == nil {
			s.bound = map[string]string{}
		}
		bound = s.bind(text)
		s.bound[text] = bound
	}
	return bound
}

// reader is a database outside of transactions.
type reader struct {
	db   *sql.DB
	bind func(string) string
}

func (r reader) text(text string) string {
	if r.bind == nil {
		return text
	}
	return r.bind(text)
}

// Query implements querier.
func (r reader) Query(text string, args ...any) (*sql.Rows, error) {
	return r.db.Query(r.text(text), args...)
}

// QueryRow implements querier.
func (r reader) QueryRow(text string, args ...any) *sql.Row {
	return r.db.QueryRow(r.text(text), args...)
}
