// Package messaging connects processes with the NATS server of a run.
package messaging

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/credentials"
)

// Server says how to reach a NATS server.
type Server struct {
	URL   string // nats://HOST:PORT or tls://HOST:PORT
	Token string // "": none
	// TokenSource names the flag or the variable that the token comes from, or may come from; "": the variable
	// XLARUN_TOKEN.
	TokenSource string
	TLS         *tls.Config
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
		return "refused"
	}
	return "no_server"
}

// Unreachable returns the error of a server that cannot be reached, a *ConnectError.
func (s Server) Unreachable(err error) error {
	if refusal := s.Refusal(err); refusal != nil {
		return refusal
	}
	return &ConnectError{err, false, fmt.Sprintf("%s cannot be reached (%v): start xlarun serve or nats-server -js there, "+
		"or give its address", s.URL, err)}
}

// Refusal returns the error of a server that refuses the token or the certificates, a *ConnectError. It returns nil for
// other errors.
func (s Server) Refusal(err error) error {
	text, source := "", cmp.Or(s.TokenSource, "the variable "+credentials.TokenVariable)
	switch {
	case errors.Is(err, nats.ErrAuthorization) && s.Token == "":
		text = fmt.Sprintf("the server at %s wants a token: give it by %s", s.URL, source)
	case errors.Is(err, nats.ErrAuthorization):
		text = fmt.Sprintf("the server at %s refuses the token of %s: give the one that the server was started with",
			s.URL, source)
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.Is(err, nats.ErrSecureConnRequired),
		errors.Is(err, nats.ErrSecureConnWanted):
		text = fmt.Sprintf("the server at %s does not connect (%v): give tls:// and the --tls-ca, --tls-cert and "+
			"--tls-key that it wants", s.URL, err)
	default:
		return nil
	}
	return &ConnectError{err, true, text}
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
		return "", "", errors.New("an address without a password, which others could read: give the token by " +
			"--token-file or the variable XLARUN_TOKEN")
	}
	server = u.Scheme + "://" + u.Host
	if name = strings.Trim(u.Path, "/"); !runName.MatchString(name) {
		return "", "", fmt.Errorf("a name after the server, of up to 64 letters, digits, dashes and underscores: "+
			"%s/NAME", server)
	}
	return server, name, nil
}
