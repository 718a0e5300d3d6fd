// Package messaging connects processes with the NATS server of a run.
package messaging

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Server says how to reach a NATS server.
type Server struct {
	URL   string // nats://HOST:PORT or tls://HOST:PORT
	Token string // "": none
	TLS   *tls.Config
}

const (
	// connectTimeout is how long the server may take.
	connectTimeout = 5 * time.Second
	// Silence is the time after which a connection closes if the other machine acknowledges nothing.
	Silence = 2 * time.Second
)

// Connect connects a client with a name. It goes on when the server comes back. The error says what to do.
func (s Server) Connect(name string, options ...nats.Option) (*nats.Conn, error) {
	options = append(options, nats.Name(name), nats.MaxReconnects(-1), nats.Timeout(connectTimeout),
		nats.SetCustomDialer(NewDialer(connectTimeout, Silence)))
	if s.Token != "" {
		options = append(options, nats.Token(s.Token))
	}
	if s.TLS != nil {
		options = append(options, nats.Secure(s.TLS))
	}
	conn, err := nats.Connect(s.URL, options...)
	if err != nil {
		return nil, s.Unreachable(err)
	}
	return conn, nil
}

// ConnectError is the error of a server that cannot be reached.
type ConnectError struct {
	URL   string
	Cause error
	Wants string // what to do
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("%s cannot be reached (%v): %s", e.URL, e.Cause, e.Wants)
}

func (e *ConnectError) Unwrap() error { return e.Cause }

// ErrorCode returns the code of a line of JSON.
func (e *ConnectError) ErrorCode() string { return "no_server" }

// Unreachable returns the error of a server that cannot be reached, a *ConnectError.
func (s Server) Unreachable(err error) error {
	wants := "start xlarun serve or nats-server -js there, or give its address"
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		wants = "give the server's token by XLARUN_TOKEN"
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.Is(err, nats.ErrSecureConnRequired),
		errors.Is(err, nats.ErrSecureConnWanted):
		wants = "give tls:// and the certificates that the server wants"
	}
	return &ConnectError{s.URL, err, wants}
}

var runName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ParseAddress splits nats://HOST:PORT/NAME, or the same with tls, into the URL of a server and the name of a run. The
// error says what an address is.
func ParseAddress(text string) (server, name string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Host == "" {
		return "", "", errors.New("nats://HOST:PORT/NAME or tls://HOST:PORT/NAME")
	}
	if u.User != nil {
		return "", "", errors.New("an address without a password, which others could read: give the token by the " +
			"variable XLARUN_TOKEN")
	}
	server = u.Scheme + "://" + u.Host
	if name = strings.Trim(u.Path, "/"); !runName.MatchString(name) {
		return "", "", fmt.Errorf("a name after the server, of up to 64 letters, digits, dashes and underscores: "+
			"%s/NAME", server)
	}
	return server, name, nil
}
