package xlabridge_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

// What a killed process left of a file goes when the next one is written beside it; what may still be written stays.
func TestFetchWriteJSONSweeps(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-20 * time.Minute)
	dead, young := filepath.Join(dir, ".new-1"), filepath.Join(dir, ".new-2")
	for _, path := range []string{dead, young} {
		require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	}
	require.NoError(t, os.Chtimes(dead, old, old))
	require.NoError(t, fetch.WriteJSON(filepath.Join(dir, "x.json"), 3))
	require.NoFileExists(t, dead)
	require.FileExists(t, young)
	text, err := os.ReadFile(filepath.Join(dir, "x.json"))
	require.NoError(t, err)
	require.Equal(t, "3\n", string(text))
}

func TestFetchCacheDir(t *testing.T) {
	t.Setenv(fetch.EnvCache, "/somewhere/else")
	dir, err := fetch.CacheDir()
	require.NoError(t, err)
	require.Equal(t, "/somewhere/else", dir)
	t.Setenv(fetch.EnvCache, "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err = fetch.CacheDir()
	require.ErrorContains(t, err, "set HOME, or XLARUN_CACHE")
	require.False(t, errors.Is(err, fetch.ErrNotInstalled))
}
