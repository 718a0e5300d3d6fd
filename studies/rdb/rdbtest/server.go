// Package rdbtest runs PostgreSQL servers for tests.
package rdbtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"xlarun/internal/network"
)

// password of the server's user, with characters that a URL has to escape.
const password = "se/cr@t"

// Server is a PostgreSQL server on this machine, in a folder of its own.
type Server struct {
	place    Place
	bin, dir string
	port     int
	as       *syscall.Credential // nil: as this process
	mu       sync.Mutex
	process  *exec.Cmd
	over     <-chan error
	next     int
}

var (
	once   sync.Once
	shared *Server
	cannot error
)

// Place is where a server runs.
type Place struct {
	Host   string // on which it listens
	Folder string // in which its files are; "": that for temporary files
	// Start starts a process. The channel gets the result of its Wait.
	Start func(*exec.Cmd) (over <-chan error, err error)
}

// Start returns the shared server of this process. It skips the test if PostgreSQL is not installed. TestMain has to
// call Stop at the end.
func Start(t testing.TB) *Server {
	t.Helper()
	once.Do(func() { shared, cannot = New() })
	if errors.Is(cannot, ErrNone) {
		t.Skip(cannot)
	}
	if cannot != nil {
		t.Fatal(cannot)
	}
	return shared
}

// Stop ends the server of Start, if there is one.
func Stop() {
	if shared != nil {
		_ = shared.Remove()
	}
}

// ErrNone means that PostgreSQL is not installed.
var ErrNone = errors.New("no PostgreSQL: neither initdb and postgres on PATH nor /usr/lib/postgresql/*/bin/postgres " +
	"(Debian: apt-get install postgresql)")

// programs is the folder of the server's programs.
func programs() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil { // initdb finds its files from where it lies
			if _, err := os.Stat(filepath.Join(filepath.Dir(real), "initdb")); err == nil {
				return filepath.Dir(real), nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", ErrNone
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// New makes a server on this machine and starts it. Root cannot run one: it is then the user postgres, or nobody.
func New() (*Server, error) { return NewAt(Place{Host: "127.0.0.1", Start: network.Start}) }

// NewAt makes a server at a place and starts it.
func NewAt(place Place) (_ *Server, err error) {
	s := &Server{place: place}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(place.Folder, "pg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	}()
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if s.as, err = somebody(); err != nil {
			return nil, err
		}
		for _, path := range []string{s.dir, secret} {
			if err := os.Chown(path, int(s.as.Uid), int(s.as.Gid)); err != nil {
				return nil, err
			}
		}
	}
	// The process gets a signal when the thread that started it ends, so that thread waits for it.
	var out bytes.Buffer
	initdb := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "tester", "-A", "scram-sha-256",
		"--pwfile", secret, "--no-sync", "--locale=C", "-E", "UTF8")
	initdb.Stdout, initdb.Stderr = &out, &out
	over, err := network.Start(initdb)
	if err == nil {
		err = <-over
	}
	if err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out.String())
	}
	if place.Host != "127.0.0.1" { // initdb lets in who comes from there
		if err := allow(filepath.Join(s.dir, "data", "pg_hba.conf")); err != nil {
			return nil, err
		}
	}
	return s, s.Up()
}

// allow lets everybody with the password into a server, by its file of rules.
func allow(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all all scram-sha-256\n")
	return errors.Join(err, f.Close())
}

func somebody() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, e1 := strconv.ParseUint(u.Uid, 10, 32)
			gid, e2 := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(e1, e2)
		}
	}
	return nil, errors.New("root cannot run PostgreSQL, and there is no user postgres or nobody")
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Up starts the server, on the port that it had before.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.port = l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
	}
	var log bytes.Buffer
	s.process = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-p", strconv.Itoa(s.port), "-k", s.dir,
		"-c", "listen_addresses="+s.place.Host, "-c", "fsync=off", "-c", "shared_buffers=16MB",
		"-c", "max_connections=60", "-c", "min_wal_size=32MB", "-c", "max_wal_size=64MB", "-c", "deadlock_timeout=50ms")
	s.process.Stdout, s.process.Stderr = &log, &log
	var err error
	if s.over, err = s.place.Start(s.process); err != nil {
		return err
	}
	for range 6000 {
		c, err := pgx.Connect(context.Background(), s.near("postgres"))
		if err == nil {
			return c.Close(context.Background())
		}
		select {
		case err := <-s.over:
			return fmt.Errorf("postgres ended: %w\n%s", err, log.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return errors.New("postgres does not answer")
}

// Down ends the server at once, as a crash does.
func (s *Server) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	s.ended(<-s.over)
	return nil
}

// ended keeps the result of the server's process. s.mu is held.
func (s *Server) ended(err error) {
	over := make(chan error, 1)
	over <- err
	s.over = over
}

// Remove ends the server and removes its folder.
func (s *Server) Remove() error { return errors.Join(s.Down(), os.RemoveAll(s.dir)) }

// Port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// url is the URL of a database for who reaches the server's host.
func (s *Server) url(database string) string {
	return fmt.Sprintf("postgresql://tester:se%%2Fcr%%40t@%s:%d/%s", s.place.Host, s.port, database)
}

// near is the URL of a database by the server's socket.
func (s *Server) near(database string) string {
	return fmt.Sprintf("postgresql:///%s?host=%s&port=%d&user=tester&password=se%%2Fcr%%40t", database,
		url.QueryEscape(s.dir), s.port)
}

// Near returns the URL by the server's socket for a URL of Database.
func (s *Server) Near(database string) string {
	return s.near(database[strings.LastIndex(database, "/")+1:])
}

// Ended reports whether the server does not run: after Down, or because its disk was full. Up starts it again.
func (s *Server) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case err := <-s.over:
		s.ended(err)
		return true
	default:
		return false
	}
}

// Drop removes a database of Database.
func (s *Server) Drop(t testing.TB, database string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), s.near("postgres"))
	if err == nil {
		_, err = c.Exec(context.Background(), "DROP DATABASE "+
			database[strings.LastIndex(database, "/")+1:]+" WITH (FORCE)")
		err = errors.Join(err, c.Close(context.Background()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Database makes an empty database and gives its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	s.next++
	name := fmt.Sprintf("test%d", s.next)
	s.mu.Unlock()
	c, err := pgx.Connect(context.Background(), s.near("postgres"))
	if err == nil {
		_, err = c.Exec(context.Background(), "CREATE DATABASE "+name)
		err = errors.Join(err, c.Close(context.Background()))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}
