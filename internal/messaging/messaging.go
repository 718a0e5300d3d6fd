// Package messaging connects processes with the NATS server of a run.
package messaging

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/credentials"
)

const (
	// Runs is the bucket of a server with a note of each run, and of each island.
	Runs = "xlarun-runs"
	// Run is what subjects of the messages of a run's hosts begin with.
	Run = "xlarun.run."
)

// DefaultWait is the default of --wait.
const DefaultWait = 10 * time.Minute

// Server says how to reach a NATS server.
type Server struct {
	Address
	Token string // "": none
	// Source names the flag or the variable that says who this process is, or may say so; "": the variable
	// XLARUN_TOKEN.
	Source string
	TLS    *tls.Config
	user   nats.Option // nil: none
	// Wait is how long Connect tries; 0: once.
	Wait time.Duration
	// OnUnreachable is called about every UnreachableEvery while Connect tries, with the time since it began; nil: it
	// is not.
	OnUnreachable func(since time.Duration)
}

const (
	// connectTimeout is how long the server may take.
	connectTimeout = 5 * time.Second
	// Silence is the time after which a connection closes if the other machine acknowledges nothing.
	Silence = 2 * time.Second
	// leastPause and mostPause bound the time between two tries to connect, which doubles.
	leastPause, mostPause = 10 * time.Millisecond, 500 * time.Millisecond
	// UnreachableEvery is the time between two calls of Server.OnUnreachable.
	UnreachableEvery = 5 * time.Second
	// followEvery is the time between two looks at the address file of a server that is away.
	followEvery = 200 * time.Millisecond
)

// Use takes what files say about this process, which has a role. Errors are *credentials.Error.
func (s *Server) Use(f credentials.Files, role credentials.Role) (err error) {
	s.Source = f.Source()
	if s.Token, err = f.Secret(role); err != nil {
		return err
	}
	if f.Creds != "" {
		s.user = nats.UserCredentials(f.Creds)
	}
	if f.NKey != "" {
		if s.user, err = nats.NkeyOptionFromSeed(f.NKey); err != nil {
			return credentials.Wrong("%s has no seed of a user's nkey (%w): give a file as nk writes it", s.Source, err)
		}
	}
	s.TLS, err = f.TLS()
	return err
}

// Connect connects a client with a name, once the server answers. It goes on when the server comes back, also at
// another address of Address.File. A refusal ends the wait. The errors are ErrOver, ctx's, and *ConnectError, which
// says what to do.
func (s Server) Connect(ctx context.Context, name string, options ...nats.Option) (*nats.Conn, error) {
	usual := []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.Timeout(connectTimeout),
		nats.SetCustomDialer(NewDialer(connectTimeout, Silence)),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // it would write to stderr
	if s.Token != "" {
		usual = append(usual, nats.Token(s.Token))
	}
	if s.user != nil {
		usual = append(usual, s.user)
	}
	if s.TLS != nil {
		usual = append(usual, nats.Secure(s.TLS))
	}
	options = append(usual, options...)
	start, said, pause := time.Now(), time.Now(), leastPause
	for {
		urls, err := s.resolve()
		if err == nil {
			var conn *nats.Conn
			if conn, err = nats.Connect(strings.Join(urls, ","), options...); err == nil {
				if s.File != "" {
					go s.follow(conn, urls)
				}
				return conn, nil
			}
		}
		since := time.Since(start)
		switch refusal := s.Refusal(err); {
		case errors.Is(err, ErrOver):
			return nil, ErrOver
		case refusal != nil:
			return nil, refusal
		case since >= s.Wait:
			return nil, s.Unreachable(err)
		}
		if s.OnUnreachable != nil && time.Since(said) >= UnreachableEvery {
			said = time.Now()
			s.OnUnreachable(since)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(pause, s.Wait-since)):
		}
		pause = min(2*pause, mostPause)
	}
}

// follow lets a connection whose server is away go to where the address file says, until the connection is closed.
// known are the addresses that it has.
func (s Server) follow(conn *nats.Conn, known []string) {
	for !conn.IsClosed() {
		time.Sleep(followEvery)
		if conn.IsConnected() {
			continue
		}
		urls, err := s.resolve()
		if err != nil || slices.Equal(urls, known) {
			continue // it is being moved, comes back where it was, or is over: who waits for it asks IsOver
		}
		if conn.SetServerPool(urls) == nil && conn.ForceReconnect() == nil {
			known = urls
		}
	}
}

// ConnectError is the error of a server that cannot be reached, or that refuses the connection.
type ConnectError struct {
	Cause   error
	Refused bool
	text    string
}

func (e *ConnectError) Error() string { return e.text }

func (e *ConnectError) Unwrap() error { return e.Cause }

// ErrorCode returns the code of a line of JSON.
func (e *ConnectError) ErrorCode() string {
	if e.Refused {
		return CodeRefused
	}
	return CodeNoServer
}

// Unreachable returns the error of a server that cannot be reached, a *ConnectError.
func (s Server) Unreachable(err error) error {
	if refusal := s.Refusal(err); refusal != nil {
		return refusal
	}
	return &ConnectError{err, false, fmt.Sprintf("%s cannot be reached (%v): start xlarun serve or nats-server -js "+
		"there, or give its address", s.Address, err)}
}

// Refusal returns the error of a server that refuses the token or the certificates, a *ConnectError. It returns nil for
// other errors.
func (s Server) Refusal(err error) error {
	text, source := "", cmp.Or(s.Source, "the variable "+credentials.TokenVariable)
	switch {
	case (errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired)) && s.user != nil:
		text = fmt.Sprintf("the server at %s refuses the user of %s: give one that it knows", s.Address, source)
	case errors.Is(err, nats.ErrAuthorization) && s.Token == "":
		text = fmt.Sprintf("the server at %s wants a token: give it by %s", s.Address, source)
	case errors.Is(err, nats.ErrAuthorization):
		text = fmt.Sprintf("the server at %s refuses the token of %s: give the one that the server was started with",
			s.Address, source)
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.Is(err, nats.ErrSecureConnRequired),
		errors.Is(err, nats.ErrSecureConnWanted):
		text = fmt.Sprintf("the server at %s does not connect (%v): give tls:// and the --tls-ca, --tls-cert and "+
			"--tls-key that it wants", s.Address, err)
	default:
		return nil
	}
	return &ConnectError{err, true, text}
}
