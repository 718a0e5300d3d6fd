package ppo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge"
)

// Agents of several tiles, the last one not full, come to the same bytes on one device and on two, and each to what it comes to by itself with the same key.
func TestAgentsOverDevices(t *testing.T) {
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: 2, CacheDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	of := func(devices int) map[string][]byte {
		r := start(t, b, small(func(c *Config) { c.Agents, c.Tile, c.Devices = 5, 2, devices }))
		require.Equal(t, max(1, devices), r.Profile().Devices)
		steps(t, r, 3)
		s, err := r.Snapshot()
		require.NoError(t, err)
		all := map[string][]byte{}
		for name, a := range s.Arrays {
			all[name] = hostBytes(t, a)
			require.Equal(t, 5, a.Dim(0), name)
		}
		return all
	}
	one, two := of(1), of(2)
	require.Len(t, two, len(one))
	for name, want := range one {
		require.True(t, bytes.Equal(want, two[name]), name)
	}
	_, err = New(b, small(func(c *Config) { c.Agents, c.Devices = 5, 3 }))
	require.ErrorContains(t, err, "devices: got 3, want at most the 2 that the backend was opened with")
	_, err = New(b, small(func(c *Config) { c.Devices = 2 }))
	require.ErrorContains(t, err, "devices: got 2, want 1: one agent is trained on one device, --agents on several")
}
