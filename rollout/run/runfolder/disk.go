package runfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Disk is the file system that a run's folder uses. Every call of the package goes through it, so that tests can make
// each of them fail. Paths are the operating system's.
type Disk interface {
	// Stat follows symbolic links.
	Stat(path string) (fs.FileInfo, error)
	// Mkdir makes one folder, whose parent exists.
	Mkdir(path string) error
	// Remove removes a file or an empty folder.
	Remove(path string) error
	// SyncDir writes the entries of a folder to the disk: what was made, renamed and removed in it.
	SyncDir(path string) error
	// OpenRoot opens a folder. The Root stays with the folder if that is moved.
	OpenRoot(path string) (Root, error)
}

// Root is an open folder. Names are relative to it, with slashes. A name must not lead out of it.
type Root interface {
	// Path returns the present path of the folder. It does not wait for the disk.
	Path() string
	// Gone reports whether the folder was removed.
	Gone() (bool, error)
	// Lock locks the folder until Close. It returns ErrLocked if another process holds the lock.
	Lock() error
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string) error
	// Open opens a regular file for reading.
	Open(name string) (File, error)
	// Create opens a file for reading and writing, and makes it if there is none. It does not change its content.
	Create(name string) (File, error)
	// Holds reports whether name is still the file that was opened.
	Holds(name string, file File) (bool, error)
	// Rename replaces the file `to` if there is one.
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(name string) error
	Close() error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// ErrLocked is the error of Root.Lock if another process holds the lock.
var ErrLocked = errors.New("another process is writing to it: wait until that has ended, or stop it")

// lockName is the file that is locked if the folder itself cannot be locked.
const lockName = ".lock"

// OSDisk is the operating system's file system.
func OSDisk() Disk { return osDisk{} }

type osDisk struct{}

func (osDisk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (osDisk) Mkdir(path string) error               { return os.Mkdir(path, 0o755) }
func (osDisk) Remove(path string) error              { return os.Remove(path) }

func (osDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (osDisk) OpenRoot(path string) (Root, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	r := &osRoot{Root: root, dir: dir}
	if r.opened, err = filepath.Abs(path); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// osRoot is a folder with an open descriptor.
type osRoot struct {
	*os.Root
	dir    *os.File
	opened string   // the absolute path under which it was opened
	lock   *os.File // the locked file if the file system does not lock folders; else nil
}

// deleted ends the path of a descriptor in Linux if the file was removed.
const deleted = " (deleted)"

// Path returns the path that the kernel knows, or else the one under which the folder was opened.
func (r *osRoot) Path() string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.dir.Fd()))
	if err != nil || strings.HasSuffix(path, deleted) {
		return r.opened
	}
	return path
}

func (r *osRoot) Gone() (bool, error) {
	info, err := r.dir.Stat()
	if errors.Is(err, errStale) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if links(info) == 0 {
		return true, nil
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.dir.Fd()))
	if err != nil || !strings.HasSuffix(path, deleted) {
		return false, nil
	}
	now, err := os.Stat(path) // the folder's own name may end so
	return err != nil || !os.SameFile(info, now), nil
}

func (r *osRoot) Mkdir(name string) error { return r.Root.Mkdir(name, 0o755) }

func (r *osRoot) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := r.Root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // opening a pipe would wait for its writer
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return fs.ReadDir(r.FS(), name)
}

func (r *osRoot) Open(name string) (File, error) {
	info, err := r.Root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is not a regular file")}
	}
	f, err := r.Root.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r *osRoot) Create(name string) (File, error) {
	f, err := r.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r *osRoot) Holds(name string, file File) (bool, error) {
	there, err := r.Root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	opened, err := file.Stat()
	return os.SameFile(there, opened), err
}

func (r *osRoot) SyncDir(name string) error {
	d, err := r.Root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (r *osRoot) Close() error {
	err := errors.Join(r.dir.Close(), r.Root.Close())
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}
