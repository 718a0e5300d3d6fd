package studies

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lock of a study is removed last: a coordinator that gets it finds no slots of the one before.
func TestClearedBeforeTheNext(t *testing.T) {
	t.Parallel()
	w := workdir{t.TempDir()}
	lock, _, err := tryLock(w.coordinator("a"))
	require.NoError(t, err)
	for i := range 200 {
		require.NoError(t, os.WriteFile(w.slot("a", i)+".id", nil, 0o666))
	}
	left := make(chan []string)
	go func() {
		next, _, _ := tryLock(w.coordinator("a"))
		slots, _ := filepath.Glob(filepath.Join(w.dir, "*.id"))
		_ = next.Unlock()
		left <- slots
	}()
	require.NoError(t, w.clear("a"))
	require.NoError(t, lock.Unlock())
	require.Empty(t, <-left)
}

// TestLookingAtALock: a process that looks whether a study runs does not keep another from starting it,
// and two that look do not see each other.
func TestLookingAtALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	stop := make(chan struct{})
	var lookers sync.WaitGroup
	for range 4 {
		lookers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = locked(path)
				}
			}
		})
	}
	free := 0
	for range 300 {
		if held, err := locked(path); err == nil && !held {
			free++
		}
	}
	assert.Equal(t, 300, free, "nobody has the lock")
	for range 100 {
		lock, ok, err := tryLock(path)
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, lock.Unlock())
	}
	close(stop)
	lookers.Wait()
	lock, ok, err := tryLock(path)
	require.NoError(t, err)
	require.True(t, ok)
	defer func() { _ = lock.Unlock() }()
	held, err := locked(path)
	require.NoError(t, err)
	require.True(t, held)
	_, ok, err = tryLock(path)
	require.NoError(t, err)
	require.False(t, ok, "another has it")
}

// A process that waited for the lock of a file that its holder removed at the end had the lock of no file, so that a
// third process could have it too. One whose folder was removed had none.
func TestALockWhoseFileIsRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "lock")
	first, ok, err := tryLock(path)
	require.NoError(t, err)
	require.True(t, ok)
	next := make(chan bool)
	go func() {
		_, ok, err := tryLock(path)
		next <- ok && err == nil
	}()
	time.Sleep(20 * time.Millisecond) // it has opened the file
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.NoError(t, first.Unlock())
	require.True(t, <-next)
	held, err := locked(path)
	require.NoError(t, err)
	require.True(t, held)
}
