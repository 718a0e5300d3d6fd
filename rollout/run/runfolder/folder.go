// Package runfolder writes and reads the folder of a run: the resolved config, metrics as JSON lines and as TensorBoard
// events, checkpoints, and further files.
//
//	config.toml                     the settings of the run, for --config
//	metrics.jsonl                   one line a row; the same bytes for the same config, on any number of devices
//	timings.jsonl                   one line a row: numbers that differ from run to run
//	events.out.tfevents.*           both, for TensorBoard
//	checkpoints/NNNNNN.safetensors  the whole state after step NNNNNN; the newest few are kept
//
// Files that are not logs appear whole or not at all. A checkpoint appears after the rows up to its step are on the
// disk: a run that is killed at any time resumes exactly from its newest checkpoint. If the disk is full, writes wait.
// If the folder is moved, files go to its new path. If it is removed, it is made again.
package runfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MapFile is the picture of a run of qd as numbers, for the page in the browser.
const MapFile = "map.json"

// ArchiveFile is the file of the elites of a run of qd.
const ArchiveFile = "archive.safetensors"

// ArchiveVersion is the "format_version" in the metadata of ArchiveFile. It rises with other names of arrays.
const ArchiveVersion = "3"

const (
	configName    = "config.toml"
	checkpointDir = "checkpoints"
	// temporaryName is the name of a file, in its folder, while it is being written. The folder's lock and its mutex
	// ensure that there is one at a time.
	temporaryName = ".xlarun-unfinished"
)

// Options are the options of Create, Open and Read.
type Options struct {
	// Keep is the number of checkpoints that are kept, the newest ones; 0: 3.
	Keep int
	// EventsBySteps makes Row.Work the step of TensorBoard's events, instead of Row.Step.
	EventsBySteps bool
	// Patience is how long a write is tried again that fails for another reason than a full disk: disks in a network
	// fail for a moment. 0: it is not tried again.
	Patience time.Duration
	// DropRows lets a run go on whose logs have fewer rows than at its checkpoint. The missing rows stay missing.
	DropRows bool
	// Disk is the file system; nil: the operating system's.
	Disk Disk
	// Saved is called after each checkpoint. It must not wait, nor call the folder. nil: it is not called.
	Saved func()
	// Notice gets one sentence about each event that the user should know of: the disk is full, or has room again; the
	// folder was moved or removed. It is called from any goroutine, and must not call the folder. nil: no notices.
	Notice func(line string)
}

// Folder is the folder of one run. Its methods may be called from many goroutines.
type Folder struct {
	name    string // as it was given
	options Options
	disk    Disk
	made    []string // the folders that Create made, outermost first
	begun   bool     // the folder held a run when it was opened
	reading bool

	// waiting is closed when writes must no longer wait for room.
	waiting  chan struct{}
	stopOnce sync.Once

	writing sync.Mutex // held while a file is written: one at a time

	// making is held while base checks the folder. It guards config and life.
	making sync.Mutex
	config []byte // config.toml, after it was written
	life   int    // how many times the folder was emptied or made again

	mu     sync.Mutex // never held during a call of the disk
	root   Root
	born   string          // the first path of the folder
	at     string          // the last known path of the folder
	files  map[string]bool // files that the package wrote and did not remove
	lost   map[string]bool // those of files that vanished
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
	if o.Saved == nil {
		o.Saved = func() {}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	return &Folder{name: dir, options: o, disk: o.Disk, waiting: make(chan struct{}), files: map[string]bool{},
		lost: map[string]bool{}}
}

// Create makes the folder of a new run with its parents, locks it, and checks that files can be written there. It
// leaves no file, and refuses a folder that holds a run. Errors do not name the folder.
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
			return ErrHoldsRun
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
			return ErrHoldsRun
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

// ErrHoldsRun is the error of Create for a folder that holds a run.
var ErrHoldsRun = errors.New("it holds a run already")

// ErrNoRun is the error of Open and Read for a folder without a config: a run was stopped before its first round, or
// there was none.
var ErrNoRun = errors.New("it holds no run: there is no " + configName + " in it")

// missing returns the folders of a path that do not exist, outermost first.
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
			continue // another process made it meanwhile, for a run of its own
		}
		if err != nil {
			return err
		}
		*made = append(*made, p)
		// A folder without permission to read cannot be synced. Files in it can be written.
		if err := f.disk.SyncDir(filepath.Dir(p)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// Open opens the folder of a run to resume it. It locks the folder, and removes files that a killed process has left
// half-written. Errors do not name the folder.
func Open(dir string, o Options) (*Folder, error) { return openRun(dir, o, false) }

// Read opens the folder of a run to read from it. It needs no permission to write, and the run may be under way. Errors
// do not name the folder.
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

// Clear removes the config and the logs of a run that was stopped before its first checkpoint, so that a new run can
// begin in its folder. It refuses a folder with a checkpoint. Errors do not name the folder.
func Clear(dir string, o Options) error {
	f, err := Open(dir, o)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	steps, err := f.checkpointSteps()
	if err != nil {
		return reason(err)
	}
	if len(steps) > 0 {
		return ErrHoldsRun
	}
	entries, err := f.list(".")
	if err != nil {
		return reason(err)
	}
	for _, e := range entries {
		name := e.Name()
		if name != configName && name != metricsName && name != timingsName && !strings.HasPrefix(name, eventsPrefix) {
			continue
		}
		if err := f.root.Remove(name); err != nil {
			return reason(err)
		}
	}
	return nil
}

// open opens the folder, and locks it unless it is opened for reading.
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

// clean removes files that a killed process has left half-written.
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

// list returns the entries of a folder; none if it does not exist.
func (f *Folder) list(dir string) ([]fs.DirEntry, error) {
	entries, err := f.current().ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// reason returns an error without the operation and the path, for sentences that name the file.
func reason(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// Dir returns the name under which the folder was opened or, if it was moved since, its path. It does not wait for the
// disk.
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

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir(), filepath.FromSlash(name)) }

// Lost returns an error that names the files which are lost because the folder, or files in it, were removed while the
// run was under way; nil if there are none.
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
		if logger != nil { // it writes the logs again
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
	return fmt.Errorf("the run's folder %s, or what was in it, was removed while the run worked: %s cannot be "+
		"recovered", f.name, text)
}

// Abandon closes the folder, and removes the folders that Create made if they are empty. It is for runs that end before
// their first round.
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

// StopWaiting makes writes fail if the disk is full, both those that wait now and later ones. It is for interrupted
// runs.
func (f *Folder) StopWaiting() { f.stopOnce.Do(func() { close(f.waiting) }) }

// Close waits for the write under way, and unlocks the folder. Later writes fail, so that a goroutine that still runs
// cannot change a folder that was reported as final. Close the logger first.
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

// CloseBefore is Close, but gives up when ctx ends: the disk may not answer.
func (f *Folder) CloseBefore(ctx context.Context) error {
	return Before(ctx, f.Close, func() error {
		return fmt.Errorf("the disk of %s does not answer: a file that is being written may be missing, or the old one",
			f.Dir())
	})
}

// Before calls f and returns its error. When ctx ends first, it returns late's, and f goes on in its goroutine.
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
