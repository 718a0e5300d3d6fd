package studies

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What hinders the message server is an error. It keeps the messages of hosts where other machines reach it.
func TestBus(t *testing.T) {
	t.Parallel()
	_, err := openBus(Listen{}, filepath.Join(t.TempDir(), "none", "socket"))
	require.ErrorAs(t, err, new(*net.OpError))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, err = openBus(Listen{Address: taken.Addr().String()}, "")
	require.ErrorAs(t, err, new(*net.OpError))
	socket := filepath.Join(t.TempDir(), "socket")
	require.NoError(t, os.WriteFile(socket, nil, 0o600)) // of one that was killed
	b, err := openBus(Listen{Address: "127.0.0.1:0"}, socket)
	require.NoError(t, err)
	require.True(t, b.server.JetStreamEnabled())
	require.LessOrEqual(t, b.server.JetStreamConfig().MaxMemory, int64(1<<30/2), "half of a pod's memory")
	store := b.server.JetStreamConfig().StoreDir
	require.DirExists(t, store)
	info, err := os.Stat(socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	b.close()
	require.NoDirExists(t, store)
	require.NoFileExists(t, socket)
}

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
