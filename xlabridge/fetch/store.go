package fetch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// EnvCache is the environment variable that moves the cache folder.
const EnvCache = "XLARUN_CACHE"

// CacheDir returns the folder for all downloads and compiled programs: XLARUN_CACHE if set, else xlarun in the user's
// cache folder. It need not exist.
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

// Store is a folder of installed artifacts.
type Store struct {
	Dir string
	// Package begins the store's errors; Noun names what it holds.
	Package, Noun string
}

const (
	// LockName is the lock file of a store.
	LockName = ".lock"
	// StagePrefix begins the names of the folders that [Store.Stage] makes.
	StagePrefix = ".stage-"
	lockRetry   = 50 * time.Millisecond
)

// Lock locks the store for writing, and waits for another process that holds the lock until ctx ends. It removes the
// stages of killed processes: under the lock no other process uses them. notice may be nil.
func (s *Store) Lock(ctx context.Context, notice func(string)) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, s.writeError(0, err)
	}
	l := flock.New(filepath.Join(s.Dir, LockName))
	locked, err := l.TryLock()
	if err == nil && !locked {
		if notice != nil {
			notice("waiting for another process that is installing a " + s.Noun)
		}
		_, err = l.TryLockContext(ctx, lockRetry)
	}
	if ctx.Err() != nil {
		_ = l.Unlock()
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, s.writeError(0, err)
	}
	stale, _ := filepath.Glob(filepath.Join(s.Dir, StagePrefix+"*"))
	for _, dir := range stale {
		_ = os.RemoveAll(dir)
	}
	return func() { _ = l.Unlock() }, nil
}

// Stage calls f with a new folder in the store, and removes the folder afterwards. label names the artifact that f
// installs; need is the space that it takes, in bytes. If the disk has less, f is not called. A failure of f to write a
// file is worded for the user. The caller holds the lock.
func (s *Store) Stage(label string, need int64, f func(dir string) error) error {
	if free, ok := freeSpace(s.Dir); ok && free < need {
		return fmt.Errorf("%s: %s takes %s in %s and only %s are free: free some, or set %s to a folder on another "+
			"disk", s.Package, label, Megabytes(need), s.Dir, Megabytes(free), EnvCache)
	}
	dir, err := os.MkdirTemp(s.Dir, StagePrefix)
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = f(dir)
	}
	if isLocal(err) {
		return s.writeError(need, err)
	}
	return err
}
