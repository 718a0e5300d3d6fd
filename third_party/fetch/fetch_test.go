package fetch

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

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
