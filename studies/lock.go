package studies

import (
	"context"
	"errors"
	"time"

	"github.com/gofrs/flock"
)

// lockWait is how long tryLock tries. It is far longer than locked takes.
const lockWait = time.Second

// tryLock takes the lock of a file. ok is false if another process holds it. It tries for a while, because locked
// holds the lock for a moment to look at it.
func tryLock(path string) (lock *flock.Flock, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock = flock.New(path)
	ok, err = lock.TryLockContext(ctx, time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return lock, ok, err
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
