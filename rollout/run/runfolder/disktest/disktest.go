// Package disktest has disks for tests of run folders: one whose calls fail on request, and one in memory that loses
// what was not synced when the power fails.
package disktest

import (
	"errors"
	"io/fs"
	"sync"

	"xlarun/rollout/run/runfolder"
)

// Call is one call of a disk.
type Call struct {
	N    int    // from 1
	Op   string // the method's name, with "File." before those of files
	Name string // the name in the call; of a file, the name under which it was opened
}

// Faulty is a disk of which each call may fail.
type Faulty struct {
	runfolder.Disk
	// Fail is called before each call, and may block. If it returns an error, the call returns it and does nothing,
	// with two exceptions: a write writes half of its bytes, and Close closes.
	Fail func(Call) error

	mu    sync.Mutex
	calls []Call
}

// Calls returns the calls so far.
func (d *Faulty) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Call(nil), d.calls...)
}

func (d *Faulty) call(op, name string) error {
	d.mu.Lock()
	c := Call{len(d.calls) + 1, op, name}
	d.calls = append(d.calls, c)
	d.mu.Unlock()
	if d.Fail == nil {
		return nil
	}
	if err := d.Fail(c); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

func (d *Faulty) Stat(path string) (fs.FileInfo, error) {
	if err := d.call("Stat", path); err != nil {
		return nil, err
	}
	return d.Disk.Stat(path)
}

func (d *Faulty) Mkdir(path string) error {
	if err := d.call("Mkdir", path); err != nil {
		return err
	}
	return d.Disk.Mkdir(path)
}

func (d *Faulty) Remove(path string) error {
	if err := d.call("Remove", path); err != nil {
		return err
	}
	return d.Disk.Remove(path)
}

func (d *Faulty) SyncDir(path string) error {
	if err := d.call("SyncDir", path); err != nil {
		return err
	}
	return d.Disk.SyncDir(path)
}

func (d *Faulty) OpenRoot(path string) (runfolder.Root, error) {
	if err := d.call("OpenRoot", path); err != nil {
		return nil, err
	}
	r, err := d.Disk.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &faultyRoot{r, d}, nil
}

type faultyRoot struct {
	runfolder.Root
	disk *Faulty
}

func (r *faultyRoot) Gone() (bool, error) {
	if err := r.disk.call("Gone", "."); err != nil {
		return false, err
	}
	return r.Root.Gone()
}

func (r *faultyRoot) Lock() error {
	if err := r.disk.call("Lock", "."); err != nil {
		return err
	}
	return r.Root.Lock()
}

func (r *faultyRoot) Stat(name string) (fs.FileInfo, error) {
	if err := r.disk.call("Stat", name); err != nil {
		return nil, err
	}
	return r.Root.Stat(name)
}

func (r *faultyRoot) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := r.disk.call("ReadDir", name); err != nil {
		return nil, err
	}
	return r.Root.ReadDir(name)
}

func (r *faultyRoot) Mkdir(name string) error {
	if err := r.disk.call("Mkdir", name); err != nil {
		return err
	}
	return r.Root.Mkdir(name)
}

func (r *faultyRoot) Open(name string) (runfolder.File, error) {
	if err := r.disk.call("Open", name); err != nil {
		return nil, err
	}
	return r.file(name)(r.Root.Open(name))
}

func (r *faultyRoot) Create(name string) (runfolder.File, error) {
	if err := r.disk.call("Create", name); err != nil {
		return nil, err
	}
	return r.file(name)(r.Root.Create(name))
}

func (r *faultyRoot) file(name string) func(runfolder.File, error) (runfolder.File, error) {
	return func(f runfolder.File, err error) (runfolder.File, error) {
		if err != nil {
			return nil, err
		}
		return &faultyFile{f, r.disk, name}, nil
	}
}

func (r *faultyRoot) Holds(name string, file runfolder.File) (bool, error) {
	if err := r.disk.call("Holds", name); err != nil {
		return false, err
	}
	return r.Root.Holds(name, file.(*faultyFile).File)
}

func (r *faultyRoot) Rename(from, to string) error {
	if err := r.disk.call("Rename", to); err != nil {
		return err
	}
	return r.Root.Rename(from, to)
}

func (r *faultyRoot) Remove(name string) error {
	if err := r.disk.call("Remove", name); err != nil {
		return err
	}
	return r.Root.Remove(name)
}

func (r *faultyRoot) SyncDir(name string) error {
	if err := r.disk.call("SyncDir", name); err != nil {
		return err
	}
	return r.Root.SyncDir(name)
}

func (r *faultyRoot) Close() error {
	return errors.Join(r.disk.call("Close", "."), r.Root.Close())
}

type faultyFile struct {
	runfolder.File
	disk *Faulty
	name string
}

func (f *faultyFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.disk.call("File.ReadAt", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, offset)
}

func (f *faultyFile) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.disk.call("File.WriteAt", f.name); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], offset)
		return n, err
	}
	return f.File.WriteAt(p, offset)
}

func (f *faultyFile) Stat() (fs.FileInfo, error) {
	if err := f.disk.call("File.Stat", f.name); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.disk.call("File.Truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if err := f.disk.call("File.Sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	return errors.Join(f.disk.call("File.Close", f.name), f.File.Close())
}

// FailAt makes the n-th call fail with err.
func FailAt(n int, err error) func(Call) error {
	return func(c Call) error {
		if c.N == n {
			return err
		}
		return nil
	}
}

// FailFrom makes the n-th call and all later ones fail with err, as if the process were killed.
func FailFrom(n int, err error) func(Call) error {
	return func(c Call) error {
		if c.N >= n {
			return err
		}
		return nil
	}
}
