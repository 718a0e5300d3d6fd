package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// EnvCache is the variable that moves the cache folder.
const EnvCache = "XLARUN_CACHE"

// CacheDir is the folder that all that is fetched or compiled is kept under: XLARUN_CACHE where set, else xlarun in the
// user's cache folder. It need not exist.
func CacheDir() (string, error) {
	if dir := os.Getenv(EnvCache); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("fetch: there is no cache folder (%w): set HOME, or %s to a folder to keep plugins in",
			err, EnvCache)
	}
	return filepath.Join(dir, "xlarun"), nil
}

// Store is a folder of installed artefacts.
type Store struct {
	Dir string
	// Package begins its errors, Noun is what it holds, as they name it.
	Package, Noun string
}

const (
	// LockName is the file of a store that is locked.
	LockName = ".lock"
	// StagePrefix begins the names of folders with what is not installed yet.
	StagePrefix = ".stage-"
	lockRetry   = 50 * time.Millisecond
)

// Lock takes the store for writing. Another process that holds it is waited for until ctx ends. Under the lock, stages
// that a killed process left are removed: nobody else can be using them. notice may be nil.
func (s *Store) Lock(ctx context.Context, notice func(string)) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, s.Writing(0, err)
	}
	l := flock.New(filepath.Join(s.Dir, LockName))
	ok, err := l.TryLock()
	if err == nil && !ok {
		if notice != nil {
			notice("waiting for another process that is installing a " + s.Noun)
		}
		ok, err = l.TryLockContext(ctx, lockRetry)
	}
	if ctx.Err() != nil {
		if ok {
			_ = l.Unlock()
		}
		return nil, ctx.Err()
	}
	if err != nil || !ok {
		if err == nil {
			err = errors.New("lock not taken")
		}
		return nil, s.Writing(0, err)
	}
	stale, _ := filepath.Glob(filepath.Join(s.Dir, StagePrefix+"*"))
	for _, dir := range stale {
		_ = os.RemoveAll(dir)
	}
	return func() { _ = l.Unlock() }, nil
}

// Stage makes a folder for the work on an artefact that takes need bytes, named by label, and says where they are not
// free. The caller holds the lock and calls remove in the end.
func (s *Store) Stage(label string, need int64) (dir string, remove func(), err error) {
	if room, ok := freeSpace(s.Dir); ok && room < need {
		return "", nil, LocalError{fmt.Errorf("%s: %s takes %s in %s and only %s are free: free some, or set %s to a "+
			"folder on another disk",
			s.Package, label, Megabytes(need), s.Dir, Megabytes(room), EnvCache)}
	}
	dir, err = os.MkdirTemp(s.Dir, StagePrefix)
	if err != nil {
		return "", nil, s.Writing(need, err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
