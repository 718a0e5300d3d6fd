package hosts

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

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
