package rdbtest

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/network"
)

// NewProxy starts a relay to the server of a database and returns the URL of the database through it. Tests use it as a
// server that goes away and comes back at once.
func NewProxy(t testing.TB, database string) (r *network.Relay, through string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	r, err = network.NewRelay(u.Host)
	require.NoError(t, err)
	t.Cleanup(r.Down)
	u.Host = r.Address()
	return r, u.String()
}
