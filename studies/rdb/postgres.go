package rdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

var postgres = &dialect{
	schema: schema("SERIAL NOT NULL PRIMARY KEY", "TIMESTAMP WITHOUT TIME ZONE", "DOUBLE PRECISION", map[string]string{
		"studydirection":             "'NOT_SET', 'MINIMIZE', 'MAXIMIZE'",
		"trialstate":                 "'RUNNING', 'COMPLETE', 'PRUNED', 'FAIL', 'WAITING'",
		"trialvaluetype":             "'FINITE', 'INF_POS', 'INF_NEG'",
		"trialintermediatevaluetype": "'FINITE', 'INF_POS', 'INF_NEG', 'NAN'",
	}),
	index: `SELECT count(*) FROM unnest(ARRAY['ix_xlarun_open']) AS name WHERE to_regclass(name) IS NOT NULL`,
	tables: `SELECT count(*) FROM unnest(ARRAY['studies', 'trials', 'version_info']) AS name ` +
		`WHERE to_regclass(name) IS NOT NULL`,
	ids: `SELECT value::integer FROM json_array_elements_text(?3::json)`, instant: `CAST(?2 AS timestamp)`,
	forUpdate: ` FOR UPDATE`, snapshot: sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	bind: numbered,
	retry: func(err error) bool {
		e, ok := errors.AsType[*pgconn.PgError](err)
		// a deadlock, or a transaction that could not be put in order
		return ok && (e.Code == "40P01" || e.Code == "40001")
	},
}

// numbered rewrites the arguments ? and ?N of a statement for PostgreSQL.
func numbered(text string) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '?' {
			b.WriteByte(text[i])
			continue
		}
		b.WriteByte('$')
		if i+1 == len(text) || text[i+1] < '0' || text[i+1] > '9' {
			n++
			b.WriteString(strconv.Itoa(n))
		}
	}
	return b.String()
}

// dialer makes connections on which the kernel asks every few seconds whether the server still knows them. A killed
// server sends one reset. If the network loses it, a client that waits for an answer notices only by such a question:
// pgx asks after five minutes. 100 questions, 3 s apart, let a link be cut for five minutes. The server keeps the lock
// of a study for a connection that it takes to be open, so a client that gave up earlier could not take the lock again.
var dialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second,
	Interval: 3 * time.Second, Count: 100}}

// pool returns connections to a server.
func (a address) pool(connected func(context.Context, *pgx.Conn) error) *sql.DB {
	c := a.server.Copy()
	c.DialFunc = dialer.DialContext
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = patience
	}
	wait := strconv.FormatInt(busy.Milliseconds(), 10)
	for name, value := range map[string]string{"application_name": "xlarun", "datestyle": "ISO", "lock_timeout": wait,
		"idle_in_transaction_session_timeout": wait} {
		if _, given := c.RuntimeParams[name]; !given {
			c.RuntimeParams[name] = value
		}
	}
	if connected == nil {
		return stdlib.OpenDB(*c)
	}
	return stdlib.OpenDB(*c, stdlib.OptionAfterConnect(connected))
}

func (d *DB) openServer() {
	d.dialect = postgres
	d.write = d.at.pool(func(ctx context.Context, c *pgx.Conn) error {
		d.mu.Lock()
		study := d.locked
		d.mu.Unlock()
		if study == "" {
			return nil
		}
		err := d.takeLock(func(got *bool) error { return c.QueryRow(ctx, numbered(lock), study).Scan(got) })
		if err != nil { // database/sql does not know this connection
			_ = c.Close(ctx)
		}
		return err
	})
	d.write.SetMaxOpenConns(1)
	d.write.SetMaxIdleConns(1) // it holds the lock
	d.read = d.at.pool(nil)
	d.read.SetMaxOpenConns(2)
}

// ErrTaken means that another process runs the study.
var ErrTaken = errors.New("another process runs the study")

// lock takes an advisory lock. Its key depends on the table that the search path finds, not on the path.
const lock = `SELECT pg_try_advisory_lock(hashtextextended('xlarun ' || 'studies'::regclass::oid || ' ' || ?, 0))`

// takeLock takes a lock. It returns ErrTaken if another process holds it for the time lockWait.
func (d *DB) takeLock(try func(*bool) error) error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		got := false
		if err := try(&got); err != nil || got {
			return err
		}
		if time.Since(began) > d.lockWait {
			return ErrTaken
		}
	}
}

// Lock makes this storage the only one that runs the study of a name, until it is closed. It returns ErrTaken if
// another one does. On a server the connection that writes holds the lock, and a new connection takes it first: a
// process that has lost the lock cannot write. Processes that share a file lock a file beside it instead.
func (d *DB) Lock(name string) error {
	if d.at.file != "" {
		return nil
	}
	err := d.do(func(tx *tx) error {
		return d.takeLock(func(got *bool) error { return tx.QueryRow(lock, name).Scan(got) })
	})
	if err == nil {
		d.mu.Lock()
		d.locked = name
		d.mu.Unlock()
	}
	return err
}

// lastLine returns the innermost message of an error.
func lastLine(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// explained turns an error of a server into one sentence. Other errors stay as they are.
func (a address) explained(err error) error {
	if err == nil || a.server == nil {
		return err
	}
	where := net.JoinHostPort(a.server.Host, strconv.Itoa(int(a.server.Port)))
	if strings.HasPrefix(a.server.Host, "/") {
		where = a.server.Host
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		why := ""
		switch e.Code {
		case "28P01", "28000":
			why = fmt.Sprintf("does not let the user %s in (%s): mend the user or the password", a.server.User,
				e.Message)
		case "3D000":
			why = fmt.Sprintf("has no database %s: make it (createdb %[1]s), or mend the name", a.server.Database)
		case "42501":
			why = fmt.Sprintf("does not let the user %s do that (%s): grant it", a.server.User, e.Message)
		case "53300":
			why = "has no connection left (" + e.Message + "): raise its max_connections, or close some"
		default:
			return err
		}
		return &serverError{fmt.Sprintf("the PostgreSQL server at %s %s", where, why), err}
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return &serverError{fmt.Sprintf("there is no host %s (%s): mend the URL", a.server.Host, e.Err), err}
	}
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		if errors.Is(err, ErrTaken) {
			return ErrTaken
		}
		return &serverError{fmt.Sprintf("no PostgreSQL server answers at %s (%s): start it, or mend the URL", where,
			lastLine(innermost(e))), err}
	}
	return err
}

// innermost returns the first of joined errors.
func innermost(err error) error {
	for {
		if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
			err = many.Unwrap()[0]
		} else if inner := errors.Unwrap(err); inner != nil {
			err = inner
		} else {
			return err
		}
	}
}

// serverError is an error of the driver with a sentence of ours.
type serverError struct {
	text string
	err  error
}

func (e *serverError) Error() string { return e.text }
func (e *serverError) Unwrap() error { return e.err }
