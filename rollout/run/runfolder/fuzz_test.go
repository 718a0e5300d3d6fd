package runfolder

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// FuzzCheckpoint looks for checkpoints that Newest panics on, and for changed ones that it takes.
func FuzzCheckpoint(f *testing.F) {
	folder, err := Create(f.TempDir(), Options{})
	require.NoError(f, err)
	name, err := folder.SaveCheckpoint(Checkpoint{Step: 1, Kind: "walk", Format: 7, Config: "pop = 4\n",
		Info: map[string]string{"k": "v"}, Arrays: map[string]*graph.Array{"x": graph.Scalar(1)}})
	require.NoError(f, err)
	whole, err := os.ReadFile(name)
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Fuzz(func(t *testing.T, file []byte) {
		require.NoError(t, os.WriteFile(name, file, 0o600))
		c, skipped, err := folder.Newest()
		switch {
		case err == nil && c.Step > 0:
			require.Empty(t, skipped)
			require.NotNil(t, c.Arrays)
			again := filepath.Join(t.TempDir(), "run")
			other, err := Create(again, Options{})
			require.NoError(t, err)
			_, err = other.SaveCheckpoint(c)
			require.NoError(t, err)
			require.NoError(t, other.Close())
		case bytes.Equal(file, whole):
			require.NoError(t, err)
		}
	})
}

// FuzzRows looks for logs that readRows panics on. Rows that it takes have rising steps.
func FuzzRows(f *testing.F) {
	folder, err := Create(f.TempDir(), Options{DropRows: true})
	require.NoError(f, err)
	f.Add([]byte("{\"generation\":1,\"x\":2}\n{\"generation\":2,\"x\":null}\n"), int64(2), 2)
	f.Add([]byte("{\"generation\":1"), int64(1), 1)
	f.Fuzz(func(t *testing.T, file []byte, after int64, wanted int) {
		require.NoError(t, os.WriteFile(folder.Path("metrics.jsonl"), file, 0o600))
		text, _, steps, err := folder.readRows("metrics.jsonl", "generation", after, wanted)
		if err != nil {
			return
		}
		require.Equal(t, len(steps), bytes.Count(text, []byte{'\n'}))
		for i, step := range steps {
			require.LessOrEqual(t, step, after)
			require.True(t, i == 0 || step > steps[i-1])
		}
	})
}
