package studies

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"xlarun/studies/rdb"
)

// workdir is the folder in which the processes of a study on one machine find each other: PATH.work beside the file of
// an SQLite database, a folder in runs for the database of a server.
type workdir struct{ dir string }

// workdirOf returns the folder of a storage. tryLock makes it.
func workdirOf(storage string) (workdir, error) {
	path, err := rdb.WorkPath(storage)
	return workdir{path + ".work"}, err
}

func (w workdir) coordinator(name string) string { return filepath.Join(w.dir, name+".coordinator") }
func (w workdir) checkpoints(name string) string { return filepath.Join(w.dir, name+".checkpoints") }
func (w workdir) slot(name string, i int) string {
	return filepath.Join(w.dir, fmt.Sprintf("%s.worker-%d", name, i))
}

// longestSocket is the length in bytes that every system allows for the path of a socket.
const longestSocket = 100

// socket returns the path of the socket at which workers of this machine reach the coordinator. A path that would be
// too long is replaced by one in the folder for temporary files.
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

// clear removes the files that are needed only until the study's end, the lock's last, and the folder if it is empty.
func (w workdir) clear(name string) error {
	err := errors.Join(os.RemoveAll(w.checkpoints(name)), os.RemoveAll(w.socket(name)))
	ids, _ := filepath.Glob(filepath.Join(w.dir, name+".worker-*.id"))
	for _, id := range ids {
		slot := strings.TrimSuffix(id, ".id")
		if held, wrong := locked(slot); held || wrong != nil {
			continue // a worker of an earlier coordinator has not heard of the end
		}
		err = errors.Join(err, os.Remove(id), os.Remove(slot))
		if log, none := os.Stat(slot + ".log"); none == nil && log.Size() == 0 {
			err = errors.Join(err, os.Remove(slot+".log"))
		}
	}
	err = errors.Join(err, os.Remove(w.coordinator(name))) // from here on another coordinator may come
	_ = os.Remove(w.dir)                                   // it may have logs, or files of another study
	return err
}

// log returns the file for a worker's stdout and stderr.
func (w workdir) log(name string, i int) string { return w.slot(name, i) + ".log" }

// threadCount returns the number of threads of a process; 0 if the system does not tell.
func threadCount(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	return len(entries)
}

// lastLogLine returns the last line of a log, after a colon.
func lastLogLine(path string) string {
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; err == nil && last != "" {
		return ": " + shorten(last)
	}
	return ""
}
