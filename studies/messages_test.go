package studies

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A message server removes the folders of servers that were killed, and no others.
func TestStoresOfKilledServers(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	running, remove, err := newStore(in)
	require.NoError(t, err)
	killed, without, file := filepath.Join(in, "xlarun-serve-1"), filepath.Join(in, "xlarun-serve-2"),
		filepath.Join(in, "xlarun-serve-3")
	for _, dir := range []string{killed, without} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "kept"), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(killed, storeLock), nil, 0o600))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	again, removeAgain, err := newStore(in)
	require.NoError(t, err)
	require.DirExists(t, killed, "its process may be about to lock it")
	old := time.Now().Add(-2 * newStoreTime)
	for _, dir := range []string{killed, running} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, storeLock), old, old))
	}
	removeAgain()
	require.NoDirExists(t, again)
	_, removeAgain, err = newStore(in)
	require.NoError(t, err)
	removeAgain()
	require.NoDirExists(t, killed)
	require.DirExists(t, running)
	require.DirExists(t, without)
	require.FileExists(t, file)
	remove()
	require.NoDirExists(t, running)
}
