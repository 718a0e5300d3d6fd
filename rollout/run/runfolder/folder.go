// Package runfolder writes and reads the folder that a run leaves behind: the resolved config, metrics as JSON lines
// and as TensorBoard events, checkpoints, and whatever else a run puts there.
//
//	config.toml                     what the run was, readable by --config
//	metrics.jsonl                   one line a row; the same bytes for the same config, whatever the devices
//	timings.jsonl                   one line a row: what differs from run to run
//	events.out.tfevents.*           both, for TensorBoard
//	checkpoints/NNNNNN.safetensors  the whole state after step NNNNNN; the newest few are kept
//
// Files that are not logs appear whole or not at all. A checkpoint appears when the rows up to its step are on the
// disk, so that a run which is killed at any moment goes on from its newest checkpoint as if it had never stopped.
// Writes wait while the disk is full; a folder that is moved is written to in its new place, one that is removed is
// made again.
package runfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

const (
	configName    = "config.toml"
	checkpointDir = "checkpoints"
	// temporaryName is what a file is called, in its folder, while it is being written. The folder's lock and the
	// folder's mutex see to it that there is one at a time.
	temporaryName = ".xlarun-unfinished"
)

// Options are the same for folders that are made, opened and read.
type Options struct {
	// Keep is how many of the newest checkpoints stay; 0: 3.
	Keep int
	// Disk is the file system; nil: the operating system's.
	Disk Disk
	// Notice gets one sentence about each thing that the user should know while the run works: a disk that is full, and
	// that has room again, a folder that was moved or removed. It is called from any goroutine, and must not call the
	// folder. nil: nobody is told.
	Notice func(line string)
}

// Folder is the folder of one run. Its methods may be called from many goroutines.
type Folder struct {
	name    string // as it was given
	options Options
	disk    Disk
	made    []string // the folders that Create made, outermost first
	begun   bool     // it held a run when it was opened
	reading bool

	// waiting is closed when writes shall no longer wait for room.
	waiting  chan struct{}
	stopOnce sync.Once

	writing sync.Mutex // held while a file is written: one at a time

	// making is held while the folder is looked after, see base; it guards config, and life.
	making sync.Mutex
	config []byte // config.toml, once it is written
	life   int    // how many times the folder was emptied or made again

	mu     sync.Mutex // held for a moment only, never during a call of the disk
	root   Root
	born   string          // where the folder was first
	at     string          // where it was last seen
	files  map[string]bool // what was written into it and not removed by the package
	lost   map[string]bool // what of these vanished
	logger *Logger
	full   int // writes that wait for room
	closed bool
}

// markers are files that only a run's folder has.
var markers = []string{configName, metricsName}

func newFolder(dir string, o Options) *Folder {
	if o.Keep <= 0 {
		o.Keep = 3
	}
	if o.Disk == nil {
		o.Disk = OSDisk()
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	return &Folder{name: dir, options: o, disk: o.Disk, waiting: make(chan struct{}), files: map[string]bool{},
		lost: map[string]bool{}}
}

// Create makes the folder of a new run, with its parents, locks it, and makes sure that files can be written there; no
// file stays. It refuses a folder that holds a run already. Errors do not name the folder.
func Create(dir string, o Options) (*Folder, error) {
	f := newFolder(dir, o)
	if err := f.create(dir); err != nil {
		f.Abandon()
		return nil, reason(err)
	}
	return f, nil
}

func (f *Folder) create(dir string) error {
	missing, err := f.missing(dir)
	if err != nil {
		return err
	}
	for _, name := range markers {
		if _, err := f.disk.Stat(filepath.Join(dir, name)); err == nil {
			return errHoldsRun
		}
	}
	if err := f.makeDirs(missing, &f.made); err != nil {
		return err
	}
	if err := f.open(dir); err != nil {
		return err
	}
	for _, name := range markers { // another process may have been faster
		if _, err := f.root.Stat(name); err == nil {
			return errHoldsRun
		}
	}
	if err := f.clean(); err != nil {
		return err
	}
	probe, err := f.root.Create(temporaryName)
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), f.root.Remove(temporaryName))
}

var errHoldsRun = errors.New("it holds a run already")

// ErrNoRun is what Open and Read say of a folder without a config: a run was stopped before it began, or there was
// none.
var ErrNoRun = errors.New("it holds no run: there is no " + configName + " in it")

// missing lists the folders of a path that do not exist, outermost first.
func (f *Folder) missing(dir string) (folders []string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for p := abs; ; p = filepath.Dir(p) {
		info, err := f.disk.Stat(p)
		if err == nil {
			if !info.IsDir() {
				return nil, fmt.Errorf("%s is a file, not a folder", p)
			}
			return folders, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || p == filepath.Dir(p) {
			return nil, err
		}
		folders = append([]string{p}, folders...)
	}
}

// makeDirs makes folders one in the other, and adds them to made.
func (f *Folder) makeDirs(folders []string, made *[]string) error {
	for _, p := range folders {
		err := f.disk.Mkdir(p)
		if errors.Is(err, fs.ErrExist) {
			continue // another process was faster, with a run beside this one
		}
		if err != nil {
			return err
		}
		*made = append(*made, p)
		// A folder that may not be read can have no last entry; what is in it is written all the same.
		if err := f.disk.SyncDir(filepath.Dir(p)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// Open opens the folder of a run that shall go on, locks it, and removes what killed processes left half-written.
// Errors do not name the folder.
func Open(dir string, o Options) (*Folder, error) { return openRun(dir, o, false) }

// Read opens the folder of a run to read from it; no permission to write is needed, and the run may be under way.
// Errors do not name the folder.
func Read(dir string, o Options) (*Folder, error) { return openRun(dir, o, true) }

func openRun(dir string, o Options, reading bool) (*Folder, error) {
	f := newFolder(dir, o)
	f.reading, f.begun = reading, true
	err := f.openRun(dir)
	if err != nil {
		if f.root != nil {
			_ = f.root.Close()
		}
		return nil, reason(err)
	}
	return f, nil
}

func (f *Folder) openRun(dir string) error {
	if err := f.open(dir); err != nil {
		return err
	}
	config, err := f.ReadFile(configName)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoRun
	}
	if err != nil || f.reading {
		return err
	}
	f.config = config
	if err := f.clean(); err != nil {
		return err
	}
	for _, in := range []string{".", checkpointDir} {
		entries, err := f.list(in)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if name := filepath.ToSlash(filepath.Join(in, e.Name())); !e.IsDir() && name != lockName {
				f.files[name] = true
			}
		}
	}
	return nil
}

// open opens the folder, and locks it unless it is only read.
func (f *Folder) open(dir string) (err error) {
	if f.root, err = f.disk.OpenRoot(dir); err != nil {
		return err
	}
	f.at = f.root.Path()
	f.born = f.at
	if f.reading {
		return nil
	}
	return f.root.Lock()
}

// clean removes what a killed process was writing.
func (f *Folder) clean() error {
	for _, dir := range []string{".", checkpointDir} {
		entries, err := f.list(dir)
		if errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("its %s is no folder: put back what was there", dir)
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() != temporaryName {
				continue
			}
			if err := f.root.Remove(filepath.ToSlash(filepath.Join(dir, e.Name()))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Folder) current() Root {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.root
}

// list reads a folder's names; one that does not exist has none.
func (f *Folder) list(dir string) ([]fs.DirEntry, error) {
	entries, err := f.current().ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// reason is an error without the operation and the path, for sentences that name the file.
func reason(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// Dir is where the folder is: as it was named, or, if it was moved since, its path now. It does not wait for the disk.
func (f *Folder) Dir() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.at
	if f.root != nil && !f.closed {
		at = f.root.Path()
	}
	if at == f.born {
		return f.name
	}
	return at
}

// Path is the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir(), filepath.FromSlash(name)) }

// Lost is nil, or says which files are gone since the folder, or what is in it, was removed while the run worked: a
// command whose run lost files has not succeeded.
func (f *Folder) Lost() error {
	f.mu.Lock()
	closed, logger := f.closed || f.reading, f.logger
	f.mu.Unlock()
	if !closed {
		err := withoutVanishing(func() error {
			root, _, err := f.base()
			if err == nil {
				f.missed(root, false)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("the run's folder %s cannot be looked at: %w", f.Dir(), reason(err))
		}
		if logger != nil { // it brings back what it has
			if err := logger.durable(); err != nil {
				return err
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lost) == 0 {
		return nil
	}
	var names []string
	for name := range f.lost {
		names = append(names, name)
	}
	slices.Sort(names)
	text := names[0]
	switch n := len(names); {
	case n == 2:
		text += " and " + names[1]
	case n > 2:
		text += fmt.Sprintf(" and %d more of its files", n-1)
	}
	return fmt.Errorf("the run's folder %s, or what was in it, was removed while the run worked: %s cannot be had back",
		f.name, text)
}

// Abandon closes the folder and removes the folders that Create made, as far as they are empty: what a run that never
// began leaves behind.
func (f *Folder) Abandon() {
	f.StopWaiting()
	f.mu.Lock()
	root, closed := f.root, f.closed
	f.closed = true
	f.mu.Unlock()
	if root != nil && !closed {
		if len(f.made) > 0 {
			_ = root.Remove(lockName)
		}
		_ = root.Close()
	}
	for i := len(f.made) - 1; i >= 0; i-- {
		if f.disk.Remove(f.made[i]) != nil {
			return
		}
	}
}

// StopWaiting makes writes fail that find the disk full, those that wait for room now and all later ones: for a run
// that was interrupted.
func (f *Folder) StopWaiting() { f.stopOnce.Do(func() { close(f.waiting) }) }

// Close waits until what is being written is done, or has failed, and unlocks the folder: later writes fail, so that a
// goroutine that is still running cannot write into a folder that was reported as final. Close the logger first.
func (f *Folder) Close() error {
	f.StopWaiting()
	f.writing.Lock()
	defer f.writing.Unlock()
	f.making.Lock()
	defer f.making.Unlock()
	f.mu.Lock()
	root, closed := f.root, f.closed
	f.closed = true
	if !closed {
		f.at = root.Path()
	}
	f.mu.Unlock()
	if closed {
		return nil
	}
	if err := root.Close(); err != nil {
		return fmt.Errorf("the run's folder %s cannot be closed: %w", f.Dir(), reason(err))
	}
	return nil
}

// CloseBefore is Close that gives up at the end of ctx, where the disk does not answer.
func (f *Folder) CloseBefore(ctx context.Context) error {
	return Before(ctx, f.Close, func() error {
		return fmt.Errorf("the disk of %s does not answer: a file that is being written may be missing, or the old one",
			f.Dir())
	})
}

// Before calls f, and at the end of ctx returns what late says instead of waiting any longer; f then goes on unheard.
func Before(ctx context.Context, f, late func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return late()
	}
}
