package studies

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"xlarun/rollout/settings"
	"xlarun/rollout/study"
	"xlarun/studies/rdb"
)

// Where is the storage of the study as it may be shown: without a password.
func (s *Spec) Where() string { return rdb.Shown(s.Storage) }

// Attributes of a study.
const (
	specAttr = "xlarun:spec" // what its results follow from
	callAttr = "xlarun:call" // the rest of the spec, as it was given last
)

// call are the settings of a spec that its results do not follow from.
type call struct {
	Trials, Workers   int
	Timeout, Lease    string
	Memory            int64
	Attempts          int64
	Checkpoint, Stall string
}

// SpecOf is the spec that a study was started with.
func SpecOf(d *rdb.DB, id study.StudyID) (*Spec, error) {
	text, err := d.Attr(id, specAttr)
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, errors.New("the study was not started by xlarun study run: it has no spec")
	}
	rest, err := d.Attr(id, callAttr)
	if err != nil {
		return nil, err
	}
	return specFrom(text, rest)
}

// specFrom is a spec of its two parts.
func specFrom(text, rest []byte) (*Spec, error) {
	s := defaults()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	for name, v := range s.Fixed {
		s.Fixed[name] = plain(v)
	}
	for _, p := range s.Space {
		for on, list := range p.When {
			for i := range list {
				p.When[on][i] = plain(list[i])
			}
		}
	}
	var c call
	if err := json.Unmarshal(rest, &c); err != nil {
		return nil, err
	}
	s.Trials, s.Workers, s.Timeout, s.Lease, s.Attempts, s.Memory, s.Checkpoint, s.Stall = c.Trials, c.Workers, c.Timeout, c.Lease, c.Attempts, settings.Bytes(c.Memory), c.Checkpoint, c.Stall
	return s, nil
}

// plain are JSON's numbers as TOML's.
func plain(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return n
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = plain(x[i])
		}
	}
	return v
}

// Place is where the processes of a study on one machine meet: a folder beside its database's file, or, of a server's database, in runs.
type Place struct{ dir string }

// PlaceOf is that of a storage.
func PlaceOf(storage string) (Place, error) {
	path, err := rdb.Beside(storage)
	if err != nil {
		return Place{}, err
	}
	return Place{path + ".work"}, os.MkdirAll(path+".work", 0o777)
}

func (p Place) coordinator(name string) string { return filepath.Join(p.dir, name+".coordinator") }
func (p Place) engine(name string) string      { return filepath.Join(p.dir, name+".engine") }
func (p Place) slot(name string, i int) string {
	return filepath.Join(p.dir, fmt.Sprintf("%s.worker-%d", name, i))
}

// longestSocket is how long the path of a socket may be on any system.
const longestSocket = 100

// socket is where workers of this machine reach the engine. Where the path would be too long it lies in the folder for temporary files.
func (p Place) socket(name string) string {
	path := filepath.Join(p.dir, name+".socket")
	if len(path) <= longestSocket {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), fmt.Sprintf("xlarun-%d-%s.socket", os.Getuid(), hex.EncodeToString(sum[:8])))
}

// clear removes what is for the time of a study alone.
func (p Place) clear(name string) error {
	return errors.Join(os.RemoveAll(p.engine(name)), os.RemoveAll(p.socket(name)))
}

// Log is the file in which a worker's stderr goes.
func (p Place) Log(name string, i int) string { return p.slot(name, i) + ".log" }

// locked tells whether a process holds a lock.
func locked(path string) bool {
	l := flock.New(path)
	ok, err := l.TryLock()
	if ok {
		_ = l.Unlock()
	}
	return err == nil && !ok
}

// threads of a process; 0 where that cannot be told.
func threads(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	return len(entries)
}

// tail is the last line of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; err == nil && last != "" {
		return ": " + shown(last)
	}
	return ""
}
