package hostmemory

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What compiling has left is given back when buffers grow, at the latest after a time; after Return nothing is left.
// The addresses are in no library, so nothing is unmapped.
func TestReturnLater(t *testing.T) {
	if !Kept() {
		t.Skip("the memory of the C library is not ours")
	}
	after := ReturnAfter
	ReturnAfter = time.Hour
	t.Cleanup(func() { ReturnAfter = after })
	one, other := unsafe.Pointer(new(int)), unsafe.Pointer(new(int))
	held := Buffers.Held()

	ReturnLater(one)
	ReturnFor(held + ReturnBefore - 1)
	require.True(t, Left())
	ReturnFor(held + ReturnBefore)
	require.False(t, Left())

	ReturnLater(one)
	Return(other)
	require.True(t, Left(), "it is of another library")
	Return(one)
	require.False(t, Left())
	require.False(t, leftover.timer.Stop(), "the timer still runs")

	ReturnAfter = 0
	ReturnLater(other)
	require.Eventually(t, func() bool { return !Left() }, time.Minute, time.Millisecond)
}
