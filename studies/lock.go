package studies

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// tryLock takes the lock of a file. ok is false if another process holds it. It tries for a while, because locked
// holds the lock for a moment to look at it.
func tryLock(path string) (lock *flock.Flock, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // locked is far quicker
	defer cancel()
	for {
		lock = flock.New(path)
		ok, err = lock.TryLockContext(ctx, time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		if !ok {
			return lock, ok, err
		}
		own, err := lock.Stat()
		if there, failed := os.Stat(path); err != nil || failed == nil && os.SameFile(own, there) {
			return lock, err == nil, err
		}
		_ = lock.Close() // the process that held it has removed the file: another one has the name now
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
