//go:build unix

package runfolder

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errStale is the error of a network file system for a folder that another machine removed.
const errStale = syscall.ESTALE

// full reports whether an error means that the disk, or the user's quota, has no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// links returns the number of a file's names. A removed folder has none.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// Lock locks the folder itself, so that no lock file is left. A network file system may lock only files that are open
// for writing: there it locks the file lockName, which stays.
func (r *osRoot) Lock() error { return r.lockBy(tryLock) }

func (r *osRoot) lockBy(tryLock func(*os.File) error) error {
	err := tryLock(r.dir)
	if errors.Is(err, unix.EBADF) || errors.Is(err, unix.EISDIR) {
		if r.lock, err = r.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o644); err == nil {
			err = tryLock(r.lock)
		}
	}
	if errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil // this file system has no locks
	}
	return err
}

func tryLock(f *os.File) error {
	for again := 20; ; again-- {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK) && again > 0:
			time.Sleep(5 * time.Millisecond) // Python may share the lock for a moment, to see whether it is held
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
