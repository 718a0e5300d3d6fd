package runfolder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// names lists everything below dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			out = append(out, rel)
		}
		return err
	}))
	return out
}

func TestCreateLeavesNothingWhenAbandoned(t *testing.T) {
	base := t.TempDir()
	f, err := Create(filepath.Join(base, "a", "b"), Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "a/b"}, names(t, base), "the folder is there, no probe in it")
	f.Abandon()
	require.Empty(t, names(t, base))
}

// racingDisk lets another process make each folder just before.
type racingDisk struct{ Disk }

func (d racingDisk) Mkdir(path string) error { return errors.Join(d.Disk.Mkdir(path), fs.ErrExist) }

func TestCreateBesideAnotherProcess(t *testing.T) {
	base := t.TempDir()
	f, err := Create(filepath.Join(base, "runs", "a"), Options{Disk: racingDisk{OSDisk()}})
	require.NoError(t, err)
	f.Abandon()
	require.Equal(t, []string{"runs", "runs/a"}, names(t, base), "what the other made stays")
}

func TestAbandonKeepsWhatWasThere(t *testing.T) {
	base := t.TempDir()
	f, err := Create(base, Options{})
	require.NoError(t, err)
	f.Abandon()
	require.DirExists(t, base)
	f, err = Create(filepath.Join(base, "x"), Options{})
	require.NoError(t, err)
	require.NoError(t, f.Write("kept", []byte("1")))
	f.Abandon()
	require.Equal(t, []string{"x", "x/kept"}, names(t, base))
}

func TestCreateRefuses(t *testing.T) {
	base := t.TempDir()
	file, old := filepath.Join(base, "file"), filepath.Join(base, "old")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, os.Mkdir(old, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(old, "metrics.jsonl"), nil, 0o644))
	before := names(t, base)
	for _, c := range []struct{ dir, want string }{
		{file, "is a file, not a folder"},
		{filepath.Join(file, "below"), "not a directory"},
		{old, "holds a run already"},
		{filepath.Join(base, strings.Repeat("n", 300)), "file name too long"},
	} {
		_, err := Create(c.dir, Options{})
		require.ErrorContains(t, err, c.want)
		require.Equal(t, before, names(t, base))
	}
}

func TestWriteIsWholeOrNothing(t *testing.T) {
	base := t.TempDir()
	f, err := Create(base, Options{})
	require.NoError(t, err)
	require.NoError(t, f.Write("sub/file", []byte("one")))
	require.NoError(t, f.Write("sub/file", []byte("two")))
	got, err := os.ReadFile(filepath.Join(base, "sub", "file"))
	require.NoError(t, err)
	require.Equal(t, "two", string(got))
	require.Equal(t, []string{"sub", "sub/file"}, names(t, base), "no temporary file stays")
	require.Error(t, f.Write("sub/file/x", nil), "a file is no folder")
	require.NoError(t, f.Close())
	require.ErrorContains(t, f.Write("late", []byte("x")), "the folder is closed")
	require.NoFileExists(t, filepath.Join(base, "late"))
}

// A file whose writer gives up half-way leaves what was there, and nothing else.
func TestHalfWrittenFilesDoNotAppear(t *testing.T) {
	f, err := Create(t.TempDir(), Options{})
	require.NoError(t, err)
	require.NoError(t, f.Write("file", []byte("old")))
	half := func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		require.NoError(t, err)
		return errors.New("no more")
	}
	require.ErrorContains(t, f.WriteFrom("file", half), "no more")
	require.ErrorContains(t, f.WriteFrom("other", half), "no more")
	text, err := os.ReadFile(f.Path("file"))
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.Equal(t, []string{"file"}, names(t, f.Dir()))
}

// A file system that cannot lock folders is given a file. Python looks whether it is locked, and a run was refused.
func TestLockWhereFoldersCannotBeLocked(t *testing.T) {
	dir := t.TempDir()
	filesOnly := func(f *os.File) error {
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return syscall.EBADF
		}
		return tryLock(f)
	}
	open := func() *osRoot {
		r, err := OSDisk().OpenRoot(dir)
		require.NoError(t, err)
		return r.(*osRoot)
	}
	first, second, third, fourth := open(), open(), open(), open()
	require.NoError(t, first.lockBy(filesOnly))
	require.Equal(t, []string{lockName}, names(t, dir))
	require.ErrorIs(t, second.lockBy(filesOnly), ErrLocked)
	require.NoError(t, first.Close())
	require.NoError(t, second.lockBy(filesOnly))
	require.NoError(t, second.Close())
	require.NoError(t, third.lockBy(func(*os.File) error { return syscall.ENOLCK }), "nothing can be locked")
	require.NoError(t, syscall.Flock(int(third.dir.Fd()), syscall.LOCK_SH))
	time.AfterFunc(time.Millisecond, func() { _ = third.Close() })
	require.NoError(t, fourth.Lock())
	require.NoError(t, fourth.Close())
}
