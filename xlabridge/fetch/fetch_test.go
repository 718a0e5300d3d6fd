package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a killed process left of a file goes when the next one is written beside it; what may still be written stays.
func TestWriteJSONSweeps(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * newAge)
	dead, young := filepath.Join(dir, newPrefix+"1"), filepath.Join(dir, newPrefix+"2")
	for _, path := range []string{dead, young} {
		require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	}
	require.NoError(t, os.Chtimes(dead, old, old))
	require.NoError(t, WriteJSON(filepath.Join(dir, "x.json"), 3))
	require.NoFileExists(t, dead)
	require.FileExists(t, young)
	text, err := os.ReadFile(filepath.Join(dir, "x.json"))
	require.NoError(t, err)
	require.Equal(t, "3\n", string(text))
}

func TestCacheDir(t *testing.T) {
	t.Setenv(EnvCache, "/somewhere/else")
	dir, err := CacheDir()
	require.NoError(t, err)
	require.Equal(t, "/somewhere/else", dir)
	t.Setenv(EnvCache, "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err = CacheDir()
	require.ErrorContains(t, err, "set HOME, or XLARUN_CACHE")
	require.False(t, errors.Is(err, ErrNotInstalled))
}
