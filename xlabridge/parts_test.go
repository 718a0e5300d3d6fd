package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// What every device has of an array goes to the devices and comes back, each its own.
func TestParts(t *testing.T) {
	shape := graph.ShapeOf(graph.Uint8, 3)
	part := func(d int) []byte { return []byte{byte(d), 1, 2} }
	client, err := Open(t.Context(), Options{Devices: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for _, c := range []struct {
		backend Backend
		n       int
	}{{client, 2}, {client, 1}, {&Reference{}, 1}} {
		a, err := PutParts(c.backend, c.n, shape, part)
		require.NoError(t, err)
		require.True(t, a.Shape().Equal(shape))
		got := make([]byte, 3)
		for d := range c.n {
			require.NoError(t, PartToHost(a, d, got))
			require.Equal(t, part(d), got)
		}
		require.Error(t, PartToHost(a, c.n, got), "no such device")
		require.Error(t, PartToHost(a, 0, got[:2]), "no room")
		_, err = PutParts(c.backend, c.n, shape, func(int) []byte { return got[:2] })
		require.Error(t, err, "too short")
		Free(a)
	}
	_, err = PutParts(&Reference{}, 2, shape, part)
	require.ErrorContains(t, err, "has 1 device, got 2 parts")
	_, err = PutParts(client, 3, shape, part)
	require.ErrorContains(t, err, "device 2")
}
