package console

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A live screen asks whether stdout is a terminal by its file.
func TestOutputHasTheFileOfItsStream(t *testing.T) {
	require.Equal(t, os.Stdout.Fd(), (&Output{To: os.Stdout}).Fd())
	require.Equal(t, -1, int((&Output{To: &bytes.Buffer{}}).Fd()))
}
