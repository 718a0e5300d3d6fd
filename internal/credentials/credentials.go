// Package credentials reads what processes show to a message server: a token, a user of NATS, certificates.
package credentials

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// TokenVariable is the environment variable with the token.
const TokenVariable = "XLARUN_TOKEN"

// leastToken is the least length of a token. Shorter ones can be guessed.
const leastToken = 16

// Files are paths; "": none. Errors name them by their flags.
type Files struct {
	TokenFile string `set:"token-file" program:"no" resume:"any" help:"file with the server's token, else the variable XLARUN_TOKEN"`
	Creds     string `set:"creds" program:"no" resume:"any" help:"credentials of a user, for a NATS server that wants them, a file as nsc writes it"`
	NKey      string `set:"nkey" program:"no" resume:"any" help:"seed of a user's nkey, for a NATS server that wants it, a file as nk writes it"`
	TLSCA     string `set:"tls-ca" program:"no" resume:"any" help:"authority that the other side's certificate is of, a PEM file"`
	TLSCert   string `set:"tls-cert" program:"no" resume:"any" help:"certificate of this process, a PEM file"`
	TLSKey    string `set:"tls-key" program:"no" resume:"any" help:"its key, a PEM file"`
}

// Error is the error of a file, or of the variable, that cannot be used. It names the flag.
type Error struct{ error }

func (e *Error) Unwrap() error { return e.error }

// Wrong returns an *Error.
func Wrong(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Source names the flag or the variable that says who this process is. Without any it names those of a token.
func (f Files) Source() string {
	variable := "the variable " + TokenVariable
	switch {
	case f.Creds != "":
		return "--creds " + f.Creds
	case f.NKey != "":
		return "--nkey " + f.NKey
	case f.TokenFile != "":
		return "--token-file " + f.TokenFile
	case os.Getenv(TokenVariable) != "":
		return variable
	}
	return "--token-file or " + variable
}

// IsUser reports whether the process is a user of NATS, and has no token.
func (f Files) IsUser() bool { return f.Creds != "" || f.NKey != "" }

// check refuses files that say twice who this process is, that others can read, or that are none of a user of NATS.
func (f Files) check() error {
	switch {
	case f.Creds != "" && f.NKey != "":
		return Wrong("--creds and --nkey both name a user: leave one of them out")
	case f.IsUser() && f.TokenFile != "":
		return Wrong("%s names a user, and --token-file has a token: leave one of them out", f.Source())
	case f.IsUser():
		text, err := private(f.Source(), f.Creds+f.NKey)
		if err == nil && f.Creds != "" && !strings.Contains(text, "BEGIN NATS USER JWT") {
			err = Wrong("%s has no credentials of a NATS user: give a file as nsc writes it", f.Source())
		}
		return err
	}
	return nil
}

// private reads a file that nobody else may read. from names its flag.
func private(from, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", Wrong("%s cannot be read (%w)", from, cause(err))
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return "", Wrong("%s has the permissions %v, so that others may use it: run chmod 600 %s", from,
			info.Mode().Perm(), path)
	}
	return string(text), nil
}

// Role is what a token is for.
type Role string

const (
	Any    Role = ""       // all of them
	Worker Role = "worker" // a worker, a host, an island
	Server Role = "server" // a study that is served at another message server
	Reader Role = "reader" // whoever looks at the page
)

// Secret returns the token of a role; "": there are no tokens. Its errors are *Error.
func (f Files) Secret(role Role) (string, error) {
	all, err := f.Tokens()
	token := cmp.Or(all[role], all[Any])
	if token == "" && len(all) > 0 {
		err = Wrong("%s has no token of a %s: write a line %q into it", f.Source(), role, role+" TOKEN")
	}
	return token, err
}

// Tokens returns the tokens of the file or of TokenVariable: one of Any, or those of lines of a role and its token.
// Blank lines and those of a comment, #, are left out. It refuses a file that others can read, and a token that is too
// short. Its errors are *Error.
func (f Files) Tokens() (map[Role]string, error) {
	if err := f.check(); err != nil || f.IsUser() {
		return nil, err
	}
	text, from := os.Getenv(TokenVariable), f.Source()
	if f.TokenFile != "" {
		var err error
		if text, err = private(from, f.TokenFile); err != nil {
			return nil, err
		}
	}
	all := map[Role]string{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		role, token := Any, words[len(words)-1]
		if len(words) > 1 {
			role = Role(words[0])
		}
		_, twice := all[role]
		switch {
		case !slices.Contains([]Role{Any, Worker, Server, Reader}, role): // the word may be part of a token
			return nil, Wrong("%s has a line of the role %.10q, wants worker, server or reader and a token, or one "+
				"token without white space", from, role)
		case len(words) > 2:
			return nil, Wrong("%s has a token of a %s with white space: write one without", from, role)
		case twice || all[Any] != "" || role == Any && len(all) > 0:
			return nil, Wrong("%s has several tokens of a role: write one token, or a line of each role", from)
		case len(token) < leastToken:
			return nil, Wrong("%s has a token of %d characters, wants %d or more, as from head -c 24 /dev/urandom | "+
				"base64", from, len(token), leastToken)
		}
		all[role] = token
	}
	if f.TokenFile != "" && len(all) == 0 {
		return nil, Wrong("%s is empty: write a token into it", from)
	}
	return all, nil
}

// TLS returns the configuration; nil: there are no files. Its errors are *Error.
func (f Files) TLS() (*tls.Config, error) {
	if f.TLSCert == "" && f.TLSKey == "" && f.TLSCA == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if f.TLSCert != "" || f.TLSKey != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return nil, Wrong("--tls-cert and --tls-key cannot be used: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if f.TLSCA != "" {
		text, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return nil, Wrong("--tls-ca %s cannot be read (%w)", f.TLSCA, cause(err))
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, Wrong("--tls-ca %s has no certificate", f.TLSCA)
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
