package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
)

// Two runs that began with one island's name at the same moment wrote into each other's entries.
func TestOneRunHasAName(t *testing.T) {
	dir := t.TempDir()
	first, second, other := New(dir, "a"), New(dir, "a"), New(dir, "b")
	require.NoError(t, first.Open(t.Context()))
	var refused *messaging.CodedError
	require.ErrorAs(t, second.Open(t.Context()), &refused)
	require.Equal(t, messaging.CodeRefused, refused.Code)
	require.EqualError(t, refused, `another run, which is under way, is island "a" at `+dir+
		": give this one a name of its own by --island")
	require.NoError(t, second.Close())
	require.NoError(t, other.Open(t.Context()))
	require.NoError(t, other.Close())
	require.NoError(t, first.Close())
	require.NoError(t, second.Open(t.Context()), "the name is free again")
	require.NoError(t, second.Close())
	require.NoError(t, New(dir, "c").Close(), "a pool that was never open")
}
