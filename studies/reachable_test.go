package studies

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A study that listened on all addresses told workers to join 0.0.0.0.
func TestAddressesThatOthersReach(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"127.0.0.1:4222", "head:4222", "[fe80::1]:4222"} {
		at, others := Reachable(plain)
		require.Equal(t, plain, at)
		require.Empty(t, others)
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	for _, all := range []string{"0.0.0.0:" + port, ":" + port} {
		at, others := Reachable(all)
		for _, one := range append(others, at) {
			host, p, err := net.SplitHostPort(one)
			require.NoError(t, err)
			require.Equal(t, port, p)
			require.False(t, net.ParseIP(host).IsUnspecified(), one)
			require.NotEmpty(t, host)
		}
		conn, err := net.Dial("tcp", at)
		require.NoError(t, err, "%s is where it listens", at)
		require.NoError(t, conn.Close())
	}
}
