package dataset

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// idx is a file of unsigned bytes.
func idx(data []byte, dims ...uint32) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, data...)
}

// FuzzIDX looks for files that ReadIDX panics on. A file that it takes has as many bytes as its head says.
func FuzzIDX(f *testing.F) {
	f.Add(idx(make([]byte, 8), 2, 2, 2))
	f.Add(idx(nil, 0, 28, 28))
	name := filepath.Join(f.TempDir(), "pictures")
	f.Fuzz(func(t *testing.T, file []byte) {
		require.NoError(t, os.WriteFile(name, file, 0o600))
		dims, data, err := ReadIDX(name, 3)
		if err == nil {
			require.Equal(t, dims[0]*dims[1]*dims[2], len(data))
			require.Len(t, file, 16+len(data))
		}
	})
}
