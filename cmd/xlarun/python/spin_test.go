package python

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe that has input or has ended is polled again the next time, a silent one only after a pause.
func TestSpinner(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close() })
	_, err = out.WriteString("0")
	require.NoError(t, err)
	s := newSpinner(in)
	s.wait()
	require.Zero(t, s.pause, "the pipe has input")

	_, err = in.Read(make([]byte, 1))
	require.NoError(t, err)
	s.wait()
	require.NotZero(t, s.pause, "the pipe is empty")

	require.NoError(t, out.Close())
	s = newSpinner(in)
	s.wait()
	require.Zero(t, s.pause, "the pipe has ended")

	s = newSpinner(strings.NewReader(""))
	s.wait()
	require.Zero(t, s.pause, "no pipe is polled")
}
