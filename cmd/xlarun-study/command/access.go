package command

import (
	"crypto/tls"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/studies"
)

// accessFlags name the files with the token and the certificates of a server, of its page or of its workers.
type accessFlags struct{ token, cert, key, ca string }

// add adds the flags. owner is whose certificate it is: the server, the page or the workers.
func (f *accessFlags) add(cmd *cobra.Command, owner string) {
	flags := cmd.Flags()
	flags.StringVar(&f.token, "token-file", "", "file with the token that workers have to know, else the variable "+
		studies.TokenVariable)
	flags.StringVar(&f.cert, "tls-cert", "", "certificate of the "+owner+", a PEM file")
	flags.StringVar(&f.key, "tls-key", "", "its key, a PEM file")
	flags.StringVar(&f.ca, "tls-ca", "", "authority that the other side's certificate is of, a PEM file")
}

func (f *accessFlags) files() credentials.Files {
	return credentials.Files{Token: f.token, Cert: f.cert, Key: f.key, CA: f.ca}
}

// secret returns the token; "" for none.
func (f *accessFlags) secret() (string, error) {
	token, err := f.files().Secret()
	if err != nil {
		return "", console.BadInput("%w", err)
	}
	return token, nil
}

// tls returns the configuration of TLS; nil if no flag asks for one.
func (f *accessFlags) tls() (*tls.Config, error) {
	c, err := f.files().TLS()
	if err != nil {
		return nil, console.BadInput("%w", err)
	}
	return c, nil
}

// listen returns where to listen, and what those who connect need.
func (f *accessFlags) listen(address string) (l studies.Listen, err error) {
	l.Address = address
	if l.Token, err = f.secret(); err != nil {
		return l, err
	}
	if l.TLS, err = f.tls(); err == nil && l.TLS != nil && len(l.TLS.Certificates) == 0 {
		err = console.BadInput("--tls-ca got a file, but there is no certificate: give --tls-cert and --tls-key")
	}
	return l, err
}
