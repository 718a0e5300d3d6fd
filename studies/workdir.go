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

	"xlarun/rollout/settings"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// Where returns the address of the storage without its password.
func (s *Spec) Where() string { return rdb.Shown(s.Storage) }

// Attributes of a study.
const (
	specAttr = "xlarun:spec" // the settings that change results
	callAttr = "xlarun:call" // the other settings, as they were given last
)

// call holds the settings of a spec that do not change results.
type call struct {
	Trials, Workers   int
	Timeout, Lease    string
	Memory            int64
	Attempts          int64
	Checkpoint, Stall string
}

// SpecOf reads the spec that a study was started with.
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

// specFrom joins the two parts of a spec.
func specFrom(text, rest []byte) (*Spec, error) {
	s := Defaults()
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
	s.Trials, s.Workers, s.Timeout, s.Lease, s.Attempts, s.Memory, s.Checkpoint, s.Stall = c.Trials, c.Workers,
		c.Timeout, c.Lease, c.Attempts, settings.Bytes(c.Memory), c.Checkpoint, c.Stall
	return s, nil
}

// plain turns the numbers of JSON into those of TOML: int64 or float64.
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

// workdir is the folder in which the processes of a study on one machine find each other: PATH.work beside the file of
// an SQLite database, a folder in runs for the database of a server.
type workdir struct{ dir string }

// openWorkdir makes the folder of a storage, if it is not there.
func openWorkdir(storage string) (workdir, error) {
	path, err := rdb.WorkPath(storage)
	if err != nil {
		return workdir{}, err
	}
	return workdir{path + ".work"}, os.MkdirAll(path+".work", 0o777)
}

func (w workdir) coordinator(name string) string { return filepath.Join(w.dir, name+".coordinator") }
func (w workdir) broker(name string) string      { return filepath.Join(w.dir, name+".engine") }
func (w workdir) slot(name string, i int) string {
	return filepath.Join(w.dir, fmt.Sprintf("%s.worker-%d", name, i))
}

// longestSocket is the length in bytes that every system allows for the path of a socket.
const longestSocket = 100

// socket returns the path of the socket at which workers of this machine reach the broker. A path that would be too
// long is replaced by one in the folder for temporary files.
func (w workdir) socket(name string) string {
	path := filepath.Join(w.dir, name+".socket")
	if len(path) <= longestSocket {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), fmt.Sprintf("xlarun-%d-%s.socket", os.Getuid(), hex.EncodeToString(sum[:8])))
}

// clear removes the files that are needed only while the study runs.
func (w workdir) clear(name string) error {
	return errors.Join(os.RemoveAll(w.broker(name)), os.RemoveAll(w.socket(name)))
}

// log returns the file for a worker's stdout and stderr.
func (w workdir) log(name string, i int) string { return w.slot(name, i) + ".log" }

// threads returns the number of threads of a process; 0 if the system does not tell.
func threads(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	return len(entries)
}

// tail returns the last line of a log, after a colon.
func tail(path string) string {
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; err == nil && last != "" {
		return ": " + shorten(last)
	}
	return ""
}
