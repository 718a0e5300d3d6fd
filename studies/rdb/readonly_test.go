package rdb

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"xlarun/studies/study"
)

// looked is the value of the best trial of a study that is looked at.
func looked(t *testing.T, at string) float64 {
	t.Helper()
	d, err := OpenReadOnly(at)
	require.NoError(t, err)
	s, err := study.New("s", study.Options{Storage: d, Sampler: study.Random{}})
	require.NoError(t, err)
	best, err := s.Best()
	require.NoError(t, err)
	require.Len(t, best, 1)
	require.ErrorIs(t, s.Enqueue(map[string]any{"x": 1}), errReadOnly)
	require.NoError(t, d.Close())
	return best[0].Values[0]
}

func one(t *testing.T, d *DB, value float64) {
	t.Helper()
	s, err := study.New("s", study.Options{Storage: d, Sampler: study.Random{}})
	require.NoError(t, err)
	x, err := s.Ask()
	require.NoError(t, err)
	require.NoError(t, s.Tell(x, value))
}

// A study on media that cannot be written to was called no database of studies; as it is after its end, and as
// a kill leaves it, with what was written last in the log beside it.
func TestLookWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ended := filepath.Join(folder, "ended.db")
	d, err := Open(ended)
	require.NoError(t, err)
	one(t, d, 3)
	require.NoError(t, d.Close())
	before := sum(t, ended)
	require.Equal(t, 3., looked(t, ended))
	require.Equal(t, before, sum(t, ended), "looking changes nothing")
	require.NoFileExists(t, ended+"-shm")

	live := filepath.Join(folder, "live.db")
	if d, err = Open(live); err != nil {
		t.Fatal(err)
	}
	one(t, d, 5)
	require.Equal(t, 5., looked(t, live), "beside a writer")
	one(t, d, 4)
	require.Equal(t, 4., looked(t, live))

	disk := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(disk, 0o777))
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		require.NoError(t, d.Close())
		t.Skipf("nothing can be mounted here: %v", err)
	}
	defer func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) }()
	require.NoError(t, copyFile(ended, filepath.Join(disk, "ended.db")))
	for _, end := range []string{"", "-wal"} {
		require.NoError(t, copyFile(live+end, filepath.Join(disk, "killed.db"+end)))
	}
	require.NoError(t, d.Close())
	require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	require.Equal(t, 3., looked(t, filepath.Join(disk, "ended.db")))
	require.Equal(t, 4., looked(t, filepath.Join(disk, "killed.db")))
}

func TestLookAtWhatIsNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("a text that is no database, and longer than its head would be, so "+
		"that it is read as one, which it is not. 0123456789"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, at := range []string{path, empty} {
		before := sum(t, at)
		_, err := OpenReadOnly(at)
		require.ErrorIs(t, err, ErrNoStudies)
		require.Equal(t, before, sum(t, at))
	}
	_, err := OpenReadOnly(filepath.Join(t.TempDir(), "none"))
	require.True(t, errors.Is(err, os.ErrNotExist) && err != nil)
}

func sum(t *testing.T, path string) [32]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return sha256.Sum256(data)
}
