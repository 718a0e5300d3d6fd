// Package runfolder writes the folder that a run leaves behind: the resolved config, metrics as JSON lines and as
// TensorBoard events, checkpoints, the profile, the best member and a picture of it.
//
//	config.toml                     what the run was, readable by --config
//	metrics.jsonl                   one line a generation; the same bytes for the same config, whatever the devices
//	timings.jsonl                   one line a generation: what differs from run to run
//	events.out.tfevents.*           both, for TensorBoard
//	checkpoints/NNNNNN.safetensors  the whole state after generation NNNNNN; the newest few are kept
//	profile.json                    trace, compile, steady steps/s, peak memory
//	best.safetensors, best.gif      the best member
//
// Files that are not logs appear whole or not at all.
package runfolder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"xlarun/graph/safetensors"
)

// Folder is the folder of one run. Its methods may be called from many goroutines.
type Folder struct {
	dir  string
	made []string // the folders that Prepare made, outermost first

	mu     sync.Mutex
	closed bool
}

// markers are files that only a run's folder has.
var markers = []string{"config.toml", metricsName}

// Prepare makes the folder, with its parents, and makes sure that files can be written there; no file stays. It
// refuses a folder that holds a run already.
func Prepare(dir string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir}
	for p := abs; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err == nil {
			if !info.IsDir() {
				return nil, fmt.Errorf("%s is a file, not a folder", p)
			}
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, reason(err)
		}
		f.made = append([]string{p}, f.made...)
		if p == filepath.Dir(p) {
			break
		}
	}
	for _, name := range markers {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil, errors.New("it holds a run already")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.Abandon()
		return nil, reason(err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		f.Abandon()
		return nil, reason(err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, reason(err)
	}
	return f, nil
}

// reason is an error without the operation and the path, for sentences that name the folder.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Dir is the folder as it was named.
func (f *Folder) Dir() string { return f.dir }

// Path is the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Abandon removes the folders that Prepare made, as far as they are empty: what a run that never began leaves behind.
func (f *Folder) Abandon() {
	for i := len(f.made) - 1; i >= 0; i-- {
		if os.Remove(f.made[i]) != nil {
			return
		}
	}
}

// Close makes every later write do nothing, so that a goroutine that is still running cannot write into a folder
// that was reported as final.
func (f *Folder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// Write puts a file in the folder, whole or not at all.
func (f *Folder) Write(name string, data []byte) error {
	return f.WriteFrom(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteArrays puts a safetensors file of a tree's arrays in the folder, whole or not at all. Arrays go to the file one
// after the other: those that have to be copied to the host first are there one at a time.
func (f *Folder) WriteArrays(name string, tree any, metadata map[string]string) error {
	return f.WriteFrom(name, func(w io.Writer) error { return safetensors.Write(w, tree, metadata) })
}

// WriteFrom puts what write writes in the folder, whole or not at all.
func (f *Folder) WriteFrom(name string, write func(w io.Writer) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	path := f.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeAtomic(path, write)
}

// writeAtomic writes under a temporary name, brings the bytes to the disk and renames: after a crash the file is the
// old one or the new one.
func writeAtomic(path string, write func(w io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	buffered := bufio.NewWriter(tmp) // what is larger than its buffer goes to the file as it is
	if err = write(buffered); err != nil {
		return err
	}
	if err = buffered.Flush(); err != nil {
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
