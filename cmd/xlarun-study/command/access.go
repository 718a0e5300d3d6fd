package command

import (
	"cmp"
	"crypto/rand"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/studies"
)

// accessFlags are the files that say who a process is, or what those who connect with it need.
type accessFlags struct{ credentials.Files }

// listen returns where to listen, and what those who connect in a role need.
func (f *accessFlags) listen(address string, role credentials.Role) (l studies.Listen, err error) {
	l.Address = address
	switch l.Token, err = f.Secret(role); {
	case err != nil:
		return l, console.BadInput("%w", err)
	case f.IsUser():
		return l, console.BadInput("%s is for a server that this process joins: give --token-file or certificates",
			f.Source())
	}
	if all, _ := f.Tokens(); all[credentials.Worker] != "" && role == credentials.Worker {
		l.ServerToken = cmp.Or(all[credentials.Server], rand.Text()) // without a line no other process needs it
	}
	if l.TLS, err = f.TLS(); err != nil {
		return l, console.BadInput("%w", err)
	}
	if l.TLS != nil && len(l.TLS.Certificates) == 0 {
		err = console.BadInput("--tls-ca got a file, but there is no certificate: give --tls-cert and --tls-key")
	}
	return l, err
}

// page returns where a page is, and what its readers need. A user of NATS is this process at another server.
func (f *accessFlags) page(address string) (studies.Listen, error) {
	own := *f
	if own.Creds, own.NKey = "", ""; own.TLSCert == "" {
		own.TLSCA = "" // of the other server
	}
	return own.listen(address, credentials.Reader)
}

// join returns the server of --join.
func (f *accessFlags) join(cmd *cobra.Command, address string, wait time.Duration) (s *messaging.Server, err error) {
	s = &messaging.Server{Wait: wait}
	if s.Address, err = messaging.Parse(address); err != nil {
		return nil, console.BadInput("--join got %q, wants %w", address, err)
	}
	if wait < 0 {
		return nil, console.BadInput("--wait got %v, wants a time such as 1h, or 0", wait)
	}
	if cmd.Flags().Changed("listen") {
		return nil, console.BadInput("--listen is for a server of its own, and --join for another one: leave one of " +
			"them out")
	}
	files := f.Files
	if files.IsUser() { // the token is the page's
		files.TokenFile = ""
	}
	if err := s.Use(files, credentials.Server); err != nil {
		return nil, console.BadInput("%w", err)
	}
	return s, nil
}
