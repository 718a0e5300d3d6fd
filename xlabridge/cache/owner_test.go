//go:build linux

package cache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An entry that is not a regular file, or that others can change, is a miss with a reason and is listed. The next Put
// repairs it.
func TestNoEntryInItsPlace(t *testing.T) {
	for _, c := range []struct {
		number int
		what   string
		harm   func(path string) error
		reason string
	}{
		{1, "a pipe that nobody writes to", func(path string) error {
			return syscall.Mkfifo(path, 0o644)
		}, "it is a pipe"},
		{2, "an empty folder", func(path string) error { return os.Mkdir(path, 0o755) }, "it is a folder"},
		{3, "a folder with a file", func(path string) error {
			return os.MkdirAll(filepath.Join(path, "within", "it"), 0o755)
		}, "it is a folder"},
		{4, "a link to nothing", func(path string) error { return os.Symlink("nowhere", path) }, ""},
		{5, "a link to a device", func(path string) error { return os.Symlink("/dev/zero", path) }, "it is a device"},
		{6, "an entry that all can write", func(path string) error {
			if err := New(filepath.Dir(path)).Put(testKey, testMeta, testPayload); err != nil {
				return err
			}
			return os.Chmod(path, 0o666)
		}, "can be changed by other users (mode 0666)"},
		{7, "an entry that the group can write", func(path string) error {
			if err := New(filepath.Dir(path)).Put(testKey, testMeta, testPayload); err != nil {
				return err
			}
			return os.Chmod(path, 0o664)
		}, "can be changed by other users (mode 0664)"},
	} {
		t.Run(c.what, func(t *testing.T) {
			cache := New(t.TempDir())
			for _, mend := range []func() error{
				func() error { return cache.Put(testKey, testMeta, testPayload) },
				func() error { _, _, err := cache.Clear(); return err },
			} {
				require.NoError(t, c.harm(cache.path(testKey)), c.number)
				_, _, err := cache.Get(testKey)
				require.Error(t, err, c.number)
				require.ErrorContains(t, err, c.reason, c.number)
				for _, list := range []func() ([]Entry, error){cache.List, cache.Verify} {
					entries, err := list()
					require.NoError(t, err, c.number)
					if c.reason != "" {
						require.Len(t, entries, 1, c.number)
						require.Contains(t, entries[0].Defect, c.reason, c.number)
						require.Equal(t, testKey.String(), entries[0].Key, c.number)
					}
				}
				require.NoError(t, mend(), c.number)
				if _, _, err := cache.Get(testKey); err != nil {
					require.ErrorIs(t, err, ErrAbsent, c.number)
					continue
				}
				require.NoError(t, cache.Remove(testKey), c.number)
			}
			left, err := os.ReadDir(cache.dir)
			require.NoError(t, err)
			require.Empty(t, left, c.number)
		})
	}
}

// Users who share a folder are served their own entries and root's; those of others are neither damage nor theirs to
// remove.
func TestSharedFolder(t *testing.T) {
	me := os.Geteuid()
	t.Cleanup(func() { euid = me })
	const other = 4242
	for _, c := range []struct {
		number         int
		what           string
		user, owner    int
		served, pruned bool
	}{
		{1, "one's own", other, other, true, true},
		{2, "root's", other, 0, true, false},
		{3, "another's", other, other + 1, false, false},
		{4, "root's own", 0, 0, true, true},
		{5, "another's, seen by root", 0, other, false, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			if me != 0 && c.owner != me {
				t.Skip("only root can give files away")
			}
			euid = me
			cache := New(t.TempDir())
			require.NoError(t, cache.Put(testKey, testMeta, testPayload))
			require.NoError(t, os.Chown(cache.path(testKey), c.owner, -1))
			euid = c.user
			_, _, err := cache.Get(testKey)
			entries, listErr := cache.Verify()
			require.NoError(t, listErr, c.number)
			require.Len(t, entries, 1, c.number)
			require.Empty(t, entries[0].Defect, c.number)
			require.Equal(t, !c.served, entries[0].Foreign, c.number)
			if c.served {
				require.NoError(t, err, c.number)
			} else {
				require.ErrorContains(t, err, fmt.Sprintf("made by user %d", c.owner), c.number)
			}
			removed, _, err := cache.Clear()
			require.NoError(t, err, c.number)
			require.Equal(t, c.pruned, removed == 1, c.number)
		})
	}
}

// Entries are as readable as the user's umask says: root's serve everyone.
func TestModeOfEntries(t *testing.T) {
	for _, c := range []struct {
		number, umask int
		want          os.FileMode
	}{{1, 0o022, 0o644}, {2, 0o002, 0o644}, {3, 0, 0o644}, {4, 0o077, 0o600}} {
		old := syscall.Umask(c.umask)
		cache := New(t.TempDir())
		err := cache.Put(testKey, testMeta, testPayload)
		syscall.Umask(old)
		require.NoError(t, err)
		info, err := os.Stat(cache.path(testKey))
		require.NoError(t, err)
		require.Equal(t, c.want, info.Mode(), c.number)
	}
}

// What a process that was killed left behind goes with the next Put; what a living one still writes stays.
func TestTemporaryFiles(t *testing.T) {
	cache := New(t.TempDir())
	old := time.Now().Add(-2 * tmpAge)
	make := func(name string, when time.Time) string {
		path := filepath.Join(cache.dir, tmpPrefix+name)
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		require.NoError(t, os.Chtimes(path, when, when))
		return path
	}
	dead, young, slow := make("dead", old), make("young", time.Now()), make("slow", old)
	writer, err := os.Open(slow)
	require.NoError(t, err)
	lockFile(writer)
	require.NoError(t, cache.Put(testKey, testMeta, testPayload))
	require.NoFileExists(t, dead, "1: its process died")
	require.FileExists(t, young, "2: it may not be locked yet")
	require.FileExists(t, slow, "3: its process still writes")
	require.NoError(t, writer.Close())
	_, _, err = cache.Prune(1 << 20)
	require.NoError(t, err)
	require.NoFileExists(t, slow, "4: now it does not")
	require.FileExists(t, young, "5")
}

// A cache with a limit drops what was used longest ago, and never what was just put.
func TestPutKeepsTheLimit(t *testing.T) {
	free := New(filepath.Join(t.TempDir(), "programs"))
	key := func(i int) Key { return NewKey([]byte{byte(i)}) }
	for i := range 5 {
		require.NoError(t, free.Put(key(i), testMeta, testPayload))
		used := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(free.path(key(i)), used, used))
	}
	require.NoError(t, free.Plans().Put(key(0), testMeta, testPayload))
	used := time.Now().Add(-20 * time.Hour)
	require.NoError(t, os.Chtimes(free.Plans().path(key(0)), used, used))
	entries, err := free.List()
	require.NoError(t, err)
	require.Len(t, entries, 5, "1: without a limit all stay")
	size := entries[0].Bytes

	_, _, err = free.Get(key(0)) // used now
	require.NoError(t, err)
	require.NoError(t, free.Limited(3*size).Put(key(9), testMeta, testPayload))
	for i, there := range map[int]bool{0: true, 1: false, 2: false, 3: false, 4: true, 9: true} {
		_, _, err := free.Get(key(i))
		require.Equal(t, there, err == nil, "2: program %d", i)
	}
	_, _, err = free.Plans().Get(key(0))
	require.ErrorIs(t, err, ErrAbsent, "3: plans count")

	big := bytes.Repeat([]byte("x"), int(5*size))
	require.NoError(t, free.Limited(size).Put(key(7), testMeta, big))
	got, _, err := free.Get(key(7))
	require.NoError(t, err, "4: larger than the limit, and just put")
	require.Equal(t, big, got)
	entries, err = free.List()
	require.NoError(t, err)
	require.Len(t, entries, 1, "5: the others went for it")
}
