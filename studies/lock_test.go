package studies

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
