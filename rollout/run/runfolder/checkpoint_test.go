package runfolder

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/safetensors"
)

func TestCheckpointsAreKeptToTheNewest(t *testing.T) {
	f, err := Create(t.TempDir(), Options{})
	require.NoError(t, err)
	for g := int64(1); g <= 6; g++ {
		path, err := f.SaveCheckpoint(Checkpoint{Step: g, Kind: "walk", Format: 7, Config: "pop = 4\n",
			Info:   map[string]string{"k": "v"},
			Arrays: map[string]*graph.Array{"x": graph.Scalar(float64(g))}})
		require.NoError(t, err)
		require.Equal(t, f.Path(fmt.Sprintf("checkpoints/%06d.safetensors", g)), path)
	}
	files, err := filepath.Glob(f.Path("checkpoints/*"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	last, err := safetensors.Open(f.Path("checkpoints/000006.safetensors"))
	require.NoError(t, err)
	defer last.Close()
	metadata := last.Metadata()
	require.Regexp(t, "^[0-9a-f]{8}$", metadata["checksum"])
	delete(metadata, "checksum")
	require.Equal(t, map[string]string{"format": "xlarun checkpoint", "version": "2", "kind": "walk",
		"kind_format": "7", "step": "6",
		"rows": "0", "config": "pop = 4\n", "k": "v"}, metadata)
	x, err := last.Array("x")
	require.NoError(t, err)
	value, err := graph.Float(x)
	require.NoError(t, err)
	require.Equal(t, 6., value)
}
