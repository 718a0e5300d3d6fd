package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An object that is closed during a donation is freed, also if the donation fails. Close of the client waited
// for it for ever.
func TestHandleClosedDuringDonation(t *testing.T) {
	c := open(t, Options{Devices: 1})
	for name, end := range map[string]func(h *handle){"success": (*handle).release, "failure": (*handle).keep} {
		freed := 0
		h := &handle{client: c, free: func() error { freed++; return nil }}
		require.NoError(t, c.remember(h))
		require.Empty(t, h.holdLast("was donated"))
		require.NoError(t, h.close())
		require.Zero(t, freed, name)
		end(h)
		require.Equal(t, 1, freed, name)
		require.NotEmpty(t, h.hold(), name)
	}
	h := &handle{client: c, free: func() error { return nil }}
	require.NoError(t, c.remember(h))
	require.Empty(t, h.holdLast("was donated"))
	h.keep()
	require.Empty(t, h.hold(), "a donation that failed leaves the object usable")
	h.release()
	require.NoError(t, h.close())
}

// An object may be found lost while a close or the end of a donation frees it. The race detector reads along.
func TestHandleLostWhileFreed(t *testing.T) {
	c := open(t, Options{Devices: 1})
	for _, end := range []func(h *handle) error{
		(*handle).close,
		func(h *handle) error {
			require.Empty(t, h.holdLast("was donated"))
			h.release()
			return nil
		},
	} {
		freed, done := 0, make(chan struct{})
		h := &handle{client: c}
		h.free = func() error {
			freed++
			go func() { defer close(done); h.lose() }()
			return nil
		}
		require.NoError(t, c.remember(h))
		require.NoError(t, end(h))
		<-done
		require.Equal(t, 1, freed)
	}
}
