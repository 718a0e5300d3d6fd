package studies

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// tryLock takes the lock of a file, which it makes, with its folder. ok is false if another process holds it. It tries
// for a while, because locked holds the lock for a moment to look at it.
func tryLock(path string) (lock *flock.Flock, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // locked is far quicker
	defer cancel()
	for {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, false, err
		}
		lock = flock.New(path)
		ok, err = lock.TryLockContext(ctx, time.Millisecond)
		var own, there fs.FileInfo
		if ok {
			own, err = lock.Stat()
		}
		if ok && err == nil {
			there, err = os.Stat(path)
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return lock, false, nil
		case errors.Is(err, fs.ErrNotExist), ok && err == nil && !os.SameFile(own, there):
			_ = lock.Close() // the process that held it has removed the file, or the folder: another one may have it now
		default:
			return lock, ok && err == nil, err
		}
	}
}

// locked reports whether a process holds the lock of a file. It takes a shared lock to find out, so that several
// processes can look at the same time. After an error it is not known.
func locked(path string) (bool, error) {
	l := flock.New(path)
	ok, err := l.TryRLock()
	if err != nil {
		return false, err
	}
	if ok {
		_ = l.Unlock()
	}
	return !ok, nil
}
