package messaging

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Address says where a server is.
type Address struct {
	URLs []string // nats://HOST:PORT or tls://HOST:PORT: a server, or some of a cluster
	Name string   // of a run; "": the text has none
	File string   // a file whose text is an address, or Over; "": none
}

// Over is the text of an address file after the end of what was served.
const Over = "over"

// ErrOver is the error of a file that has the text Over.
var ErrOver = errors.New("it is over")

// DefaultName is the name of a run whose address has none.
const DefaultName = "run"

var runName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Parse reads nats://HOST:PORT,HOST:PORT/NAME, or the same with tls, or @FILE:NAME. The name may be left out. The error
// says what an address is.
func Parse(text string) (a Address, err error) {
	if file, ok := strings.CutPrefix(text, "@"); ok {
		a.File = file
		if i := strings.LastIndexByte(file, ':'); i >= 0 && runName.MatchString(file[i+1:]) {
			a.File, a.Name = file[:i], file[i+1:]
		}
		if a.File == "" {
			return a, errors.New("@FILE or @FILE:NAME, a file that xlarun serve --address-file writes")
		}
		return a, nil
	}
	scheme, rest, _ := strings.Cut(text, "://")
	list, name, _ := strings.Cut(rest, "/")
	if scheme != "nats" && scheme != "tls" || list == "" {
		return a, errors.New("nats://HOST:PORT/NAME, tls://HOST:PORT/NAME or @FILE:NAME")
	}
	for host := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(scheme + "://" + host)
		switch {
		case err == nil && u.User != nil:
			return a, errors.New("an address without a password, which others could read: give the token by " +
				"--token-file or the variable XLARUN_TOKEN")
		case err != nil || u.Hostname() == "" || !isPort(u.Port()) || u.RawQuery != "" || u.Fragment != "":
			return a, fmt.Errorf("%s://HOST:PORT, or several with commas: %s://HOST:PORT,HOST:PORT", scheme, scheme)
		}
		a.URLs = append(a.URLs, scheme+"://"+host)
	}
	if a.Name = strings.Trim(name, "/"); a.Name != "" && !runName.MatchString(a.Name) {
		return a, fmt.Errorf("a name after the server, of up to 64 letters, digits, dashes and underscores: %s/NAME", a)
	}
	return a, nil
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && port > 0
}

// String returns the address without its name, as errors have it.
func (a Address) String() string {
	if a.File != "" {
		return "@" + a.File
	}
	return strings.Join(a.URLs, ",")
}

// Full returns the address with its name.
func (a Address) Full() string {
	switch {
	case a.Name == "":
		return a.String()
	case a.File != "":
		return a.String() + ":" + a.Name
	}
	return a.String() + "/" + a.Name
}

// IsOver reports whether the file says that what was served is over.
func (a Address) IsOver() bool {
	_, err := a.resolve()
	return errors.Is(err, ErrOver)
}

// resolve returns the URLs, those that the file has now. The error is ErrOver if it says so.
func (a Address) resolve() ([]string, error) {
	if a.File == "" {
		return a.URLs, nil
	}
	text, err := os.ReadFile(a.File)
	if err != nil {
		return nil, err
	}
	line := strings.TrimSpace(string(text))
	if line == Over {
		return nil, ErrOver
	}
	in, err := Parse(line)
	if err != nil || in.File != "" {
		return nil, fmt.Errorf("%s has %.40q, wants nats://HOST:PORT, as xlarun serve --address-file writes it", a.File,
			line)
	}
	return in.URLs, nil
}
