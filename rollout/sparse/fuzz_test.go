package sparse

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzIDX looks for files that readIDX panics on. A file that it takes has as many bytes as its head says.
func FuzzIDX(f *testing.F) {
	f.Add(idx(make([]byte, 8), 2, 2, 2))
	f.Add(idx(nil, 0, 28, 28))
	name := filepath.Join(f.TempDir(), "pictures")
	f.Fuzz(func(t *testing.T, file []byte) {
		require.NoError(t, os.WriteFile(name, file, 0o600))
		dims, data, err := readIDX(name, 3)
		if err == nil {
			require.Equal(t, dims[0]*dims[1]*dims[2], len(data))
			require.Len(t, file, 16+len(data))
		}
	})
}
