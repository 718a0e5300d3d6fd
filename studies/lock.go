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
		if ok, err = lock.TryLockContext(ctx, time.Millisecond); ok {
			own, failed := lock.Stat()
			there, missing := os.Stat(path)
			ok, err = os.SameFile(own, there), errors.Join(failed, missing)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return lock, false, nil
		}
		if ok || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return lock, ok, err
		}
		_ = lock.Close() // the process that held it has removed the file, and another one may have the name now
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
