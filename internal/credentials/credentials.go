// Package credentials reads what processes show to a message server: a token and certificates.
package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// TokenVariable is the environment variable with the token.
const TokenVariable = "XLARUN_TOKEN"

// leastToken is the least length of a token. Shorter ones can be guessed.
const leastToken = 16

// Files are paths; "": none. Errors name them by the flags token-file, tls-cert, tls-key and tls-ca.
type Files struct{ Token, Cert, Key, CA string }

// Error is the error of a file, or of the variable, that cannot be used. It names the flag.
type Error struct{ error }

func (e *Error) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// TokenSource names the flag or the variable that the token comes from. Without a token it names both.
func (f Files) TokenSource() string {
	variable := "the variable " + TokenVariable
	switch {
	case f.Token != "":
		return "--token-file " + f.Token
	case os.Getenv(TokenVariable) != "":
		return variable
	}
	return "--token-file or " + variable
}

// Secret returns the token of the file or of TokenVariable; "": none. It refuses a file that others can read, and a
// token that is too short. Its errors are *Error.
func (f Files) Secret() (string, error) {
	token, from := os.Getenv(TokenVariable), f.TokenSource()
	if f.Token != "" {
		text, err := os.ReadFile(f.Token)
		if err != nil {
			return "", wrong("%s cannot be read (%w)", from, cause(err))
		}
		info, err := os.Stat(f.Token)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			return "", wrong("%s has the permissions %v, so that others may use it: run chmod 600 %s", from,
				info.Mode().Perm(), f.Token)
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return "", wrong("%s is empty: write a token into it", from)
		}
	}
	if token != "" && len(token) < leastToken {
		return "", wrong("%s has a token of %d characters, wants %d or more, as from head -c 24 /dev/urandom | base64",
			from, len(token), leastToken)
	}
	return token, nil
}

// TLS returns the configuration; nil: there are no files. Its errors are *Error.
func (f Files) TLS() (*tls.Config, error) {
	if f.Cert == "" && f.Key == "" && f.CA == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if f.Cert != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, wrong("--tls-cert and --tls-key cannot be used: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, wrong("--tls-ca %s cannot be read (%w)", f.CA, cause(err))
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, wrong("--tls-ca %s has no certificate", f.CA)
		}
		c.RootCAs, c.ClientCAs = pool, pool
	}
	return c, nil
}

// cause returns the error of a file without its path.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
