package runfolder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"xlarun/graph/safetensors"
)

// Write puts a file in the folder, whole or not at all.
func (f *Folder) Write(name string, data []byte) error {
	err := f.put(name, nil, func(s *sink) error {
		_, err := s.Write(data)
		return err
	})
	if err == nil && name == configName { // for a folder that has to be made again
		f.making.Lock()
		f.config = bytes.Clone(data)
		f.making.Unlock()
	}
	return err
}

// WriteArrays puts a safetensors file of a tree's arrays in the folder, whole or not at all. It copies arrays from the
// devices to the host one at a time. It adds a digest to the metadata.
func (f *Folder) WriteArrays(name string, tree any, metadata map[string]string) error {
	metadata, err := safetensors.WithDigest(tree, metadata)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.Path(name), err)
	}
	return f.WriteFrom(name, func(w io.Writer) error { return safetensors.Write(w, tree, metadata) })
}

// WriteFrom puts the output of write in the folder, whole or not at all. If the disk is full, or the folder is removed
// meanwhile, it calls write again, which must write the same.
func (f *Folder) WriteFrom(name string, write func(w io.Writer) error) error {
	return f.put(name, nil, func(s *sink) error { return buffered(s, write) })
}

// errReading and errClosed say why nothing can be written.
var (
	errReading = errors.New("the folder was opened for reading")
	errClosed  = errors.New("the folder is closed")
)

// put writes a file whole, once there is room and a folder for it. It calls first, if that is not nil, before; and once
// more if the folder had to be made again.
func (f *Folder) put(name string, first func() error, fill func(s *sink) error) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	err := f.patiently(name, func() (wanted int64, err error) {
		root, err := f.ready(first)
		if err != nil {
			return 0, err
		}
		return replace(root, name, fill)
	})
	if err != nil {
		return &WriteError{f.Path(name), reason(err)}
	}
	f.mu.Lock()
	f.files[name] = true
	delete(f.lost, name)
	f.mu.Unlock()
	return nil
}

// ready calls first, and returns the folder to write into.
func (f *Folder) ready(first func() error) (Root, error) {
	root, life, err := f.base()
	for first != nil && err == nil {
		if err = first(); err != nil {
			break
		}
		before := life
		if root, life, err = f.base(); life == before {
			break
		}
	}
	return root, err
}

// vanished reports whether an error means that the folder no longer exists.
func vanished(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStale) }

// withoutVanishing calls try again if the folder vanished meanwhile: base makes it again.
func withoutVanishing(try func() error) (err error) {
	const tries = 3
	for range tries {
		if err = try(); !vanished(err) {
			break
		}
	}
	return err
}

// replace writes a file under a temporary name, syncs and renames it: after a crash, the file is the old one or the new
// one.
func replace(root Root, name string, fill func(s *sink) error) (wanted int64, err error) {
	dir := path.Dir(name)
	if err := mkdirAll(root, dir); err != nil {
		return 0, err
	}
	temporary := path.Join(dir, temporaryName)
	file, err := root.Create(temporary)
	if err != nil {
		return 0, err
	}
	s := &sink{file: file}
	err = s.fill(fill)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		_ = root.Remove(temporary) // to make room; if this fails, it is removed when the folder is opened
		return s.at, err
	}
	return s.at, root.SyncDir(dir)
}

// mkdirAll makes a folder in the root, with its parents.
func mkdirAll(root Root, dir string) error {
	if dir == "." {
		return nil
	}
	if _, err := root.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err // if it is a file, the write into it fails
	}
	if err := mkdirAll(root, path.Dir(dir)); err != nil {
		return err
	}
	if err := root.Mkdir(dir); err != nil {
		return err
	}
	return root.SyncDir(path.Dir(dir))
}

// sink writes to a file. After the disk is full it only counts, so that the notice has the number of bytes.
type sink struct {
	file File
	at   int64
	err  error // the first failure
}

func (s *sink) fill(fill func(s *sink) error) error {
	if err := s.file.Truncate(0); err != nil {
		return err
	}
	if err := fill(s); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	return s.file.Sync()
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		_, err := s.file.WriteAt(p, s.at)
		s.err = reason(err)
	}
	if s.err != nil && !full(s.err) {
		return 0, s.err
	}
	s.at += int64(len(p))
	return len(p), nil
}

// If the disk is full, a write is tried again after firstPause, then after twice that time, up to longestPause.
const (
	firstPause   = time.Millisecond
	longestPause = 2 * time.Second
)

// WriteError is the error of a file, or of the logs, that could not be written. A later write may succeed.
type WriteError struct {
	What string // "runs/a/config.toml", "the run's logs in runs/a"
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("%s cannot be written: %v", e.What, e.Err) }
func (e *WriteError) Unwrap() error { return e.Err }

// ErrorCode is the error's code in a line of JSON.
func (e *WriteError) ErrorCode() string { return "not_written" }

// patiently calls try until it succeeds. While the disk is full it waits; after other errors it tries again for
// Options.Patience. wanted is the number of bytes that try writes.
func (f *Folder) patiently(name string, try func() (wanted int64, err error)) error {
	waits := false
	start := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var wanted int64
		err := withoutVanishing(func() (err error) {
			wanted, err = try()
			return err
		})
		again := full(err) || err != nil && time.Since(start) < f.options.Patience
		if !again || errors.As(err, new(*noRoomError)) {
			if waits {
				f.endWait(name, err)
			}
			return err
		}
		if full(err) && !waits {
			waits = true
			f.beginWait(name, wanted)
		}
		select {
		case <-f.waiting:
			if !full(err) {
				return err
			}
			f.endWait(name, err)
			return &noRoomError{wanted, reason(err)}
		case <-time.After(pause):
		}
	}
}

// noRoomError is the error of a write that must not wait for room any longer.
type noRoomError struct {
	wanted int64
	cause  error
}

func (e *noRoomError) Error() string {
	return fmt.Sprintf("it wants %d bytes, and the disk is full: %v", e.wanted, e.cause)
}

func (e *noRoomError) Unwrap() error { return e.cause }

// beginWait says that the disk is full. It says so once, however many writes wait.
func (f *Folder) beginWait(name string, wanted int64) {
	f.mu.Lock()
	f.full++
	first := f.full == 1
	f.mu.Unlock()
	if first {
		f.options.Notice(fmt.Sprintf("the disk is full: %s wants %d bytes; the run waits until there is room",
			f.Path(name), wanted))
	}
}

// endWait says that there is room again, after the last waiting write.
func (f *Folder) endWait(name string, err error) {
	f.mu.Lock()
	f.full--
	last := f.full == 0
	f.mu.Unlock()
	if last && err == nil {
		f.options.Notice(fmt.Sprintf("there is room on the disk again: %s is written", f.Path(name)))
	}
}

// buffered calls write with a buffer before the sink.
func buffered(s *sink, write func(w io.Writer) error) error {
	b := bufio.NewWriter(s)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}
