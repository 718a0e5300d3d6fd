package rdb

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// address is the parsed address of a storage.
type address struct {
	file   string          // of SQLite; "" for a server
	server *pgx.ConnConfig // of PostgreSQL
	shown  string          // without a password
}

func (a address) String() string { return a.shown }

// parse parses an address, see Open.
func parse(text string) (address, error) {
	scheme, _, isURL := strings.Cut(text, "://")
	driver, _, _ := strings.Cut(scheme, "+") // SQLAlchemy's way to name a driver
	if isURL && (driver == "postgresql" || driver == "postgres") {
		return parseServer(text)
	}
	path, isFile := strings.CutPrefix(text, "sqlite:///")
	if isURL && !isFile {
		return address{}, fmt.Errorf("storage: got %s://, want sqlite:///PATH, the path of an SQLite file, or "+
			"postgresql://USER:PASSWORD@HOST/DATABASE", scheme)
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return address{}, fmt.Errorf("storage %q names no file: give sqlite:///PATH, a path, or "+
			"postgresql://USER:PASSWORD@HOST/DATABASE", text)
	}
	return address{file: path, shown: text}, nil
}

// Shown returns an address without its password, for messages.
func Shown(text string) string {
	a, err := parse(text)
	if err != nil {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://…"
	}
	return a.shown
}

// Path returns the file of an SQLite storage, "" for a server.
func Path(text string) (string, error) {
	a, err := parse(text)
	return a.file, err
}

// WorkPath returns the path at which the processes of one machine that work on a storage meet: the file of an SQLite
// storage, a path in the folder runs for a server. It does not depend on the user or the password.
func WorkPath(text string) (string, error) {
	a, err := parse(text)
	if err != nil || a.file != "" {
		return a.file, err
	}
	c := a.server
	name := fmt.Sprintf("postgresql-%s-%d-%s", escaped(c.Host, "-"), c.Port, escaped(c.Database, ""))
	if s := c.RuntimeParams["search_path"]; s != "" {
		name += "," + escaped(s, "")
	}
	return filepath.Join("runs", name), nil
}

// escaped returns a text as part of a file name. Different texts give different names: all characters except letters,
// digits, dots, underscores and those of `also` become %XX.
func escaped(text, also string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("._"+also, c) >=
			0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// parseServer parses the URL of a database on a server.
func parseServer(text string) (address, error) {
	_, rest, _ := strings.Cut(text, "://")
	u, err := url.Parse("postgresql://" + rest)
	// A password with a character that ends the host would be parsed as something else, and shown.
	if err != nil || strings.ContainsAny(u.Path+u.RawQuery+u.Fragment, "@") {
		return address{}, fmt.Errorf("storage postgresql://… cannot be read as a URL: want " +
			"postgresql://USER:PASSWORD@HOST:PORT/DATABASE, in which special characters of the password stand as " +
			"%%XX (@ is %%40, / is %%2F)")
	}
	plain := *u
	if u.User != nil {
		plain.User = url.User(u.User.Username())
	}
	q := plain.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		q.Del(secret)
	}
	plain.RawQuery = q.Encode()
	a := address{shown: plain.String()}
	if a.server, err = pgx.ParseConfig(u.String()); err != nil {
		return address{}, fmt.Errorf("storage %s cannot be used: %s", a, strings.ReplaceAll(lastLine(err), "\n", " "))
	}
	if strings.Trim(u.Path, "/") == "" && !q.Has("dbname") && !q.Has("database") {
		return address{}, fmt.Errorf("storage %s names no database: want postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
			a)
	}
	return a, nil
}

// look opens an address for reading.
func (a address) look() (*sql.DB, *dialect, error) {
	if a.file == "" {
		return a.pool(nil), postgres, nil
	}
	db, err := lookFile(a.file)
	return db, sqlite, err
}
