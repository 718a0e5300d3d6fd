package command

import (
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/studies"
)

// accessFlags are the files that say who a process is, or what those who connect with it need.
type accessFlags struct{ credentials.Files }

// listen returns where to listen, and what those who connect need.
func (f *accessFlags) listen(address string) (l studies.Listen, err error) {
	l.Address = address
	switch l.Token, err = f.Secret(); {
	case err != nil:
		return l, console.BadInput("%w", err)
	case f.IsUser():
		return l, console.BadInput("%s is for a server that this process joins: give --token-file or certificates",
			f.Source())
	}
	if l.TLS, err = f.TLS(); err != nil {
		return l, console.BadInput("%w", err)
	}
	if l.TLS != nil && len(l.TLS.Certificates) == 0 {
		err = console.BadInput("--tls-ca got a file, but there is no certificate: give --tls-cert and --tls-key")
	}
	return l, err
}

// join returns the server of --join.
func (f *accessFlags) join(cmd *cobra.Command, address string) (s *messaging.Server, err error) {
	s = &messaging.Server{Wait: messaging.DefaultWait}
	if s.Address, err = messaging.Parse(address); err != nil {
		return nil, console.BadInput("--join got %q, wants %w", address, err)
	}
	if cmd.Flags().Changed("listen") {
		return nil, console.BadInput("--listen is for a server of its own, and --join for another one: leave one of " +
			"them out")
	}
	if err := s.Use(f.Files); err != nil {
		return nil, console.BadInput("%w", err)
	}
	return s, nil
}
