package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
