package safetensors

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// 1: of a file with a digest, every byte that is another is noticed: by the header, or by one sentence about the
// digest. What is not noticed changes nothing of what is read.
func TestDigestFindsEveryByte(t *testing.T) {
	tree := map[string]*graph.Array{"w": graph.Float32s([]float32{1, -2, 3.5}), "at": graph.Int32s([]int32{7, 8}),
		"empty": graph.Float32s(nil)}
	metadata, err := WithDigest(tree, map[string]string{"env": "CartPole-v1", "steps": "500"})
	require.NoError(t, err)
	require.Regexp(t, `^crc32c:[0-9a-f]{8}$`, metadata["digest"])
	again, err := WithDigest(tree, metadata)
	require.NoError(t, err)
	require.Equal(t, metadata, again, "it is not of itself")
	path := filepath.Join(t.TempDir(), "a.safetensors")
	require.NoError(t, Save(path, tree, metadata))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := New(bytes.NewReader(whole), int64(len(whole)))
	require.NoError(t, err)
	require.NoError(t, f.CheckDigest())
	found := 0
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		f, err := New(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil {
			continue
		}
		if err := f.CheckDigest(); err != nil {
			require.ErrorContains(t, err, "is damaged: its digest is crc32c:", "byte %d", i)
			found++
			continue
		}
		got, err := New(bytes.NewReader(damaged), int64(len(damaged)))
		require.NoError(t, err)
		require.Equal(t, []string{"at", "empty", "w"}, got.Names(), "byte %d", i)
		for _, name := range got.Names() {
			a, err := got.Array(name)
			require.NoError(t, err)
			want, err := f.Array(name)
			require.NoError(t, err)
			require.Equal(t, want.String(), a.String())
		}
		require.Equal(t, "CartPole-v1", got.Metadata()["env"], "byte %d: only the digest's own key may be another", i)
		require.NotContains(t, got.Metadata(), "digest", "byte %d", i)
	}
	require.Greater(t, found, 20)
}

// 2: what has none passes, and a tree with no value has none.
func TestWithoutDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	require.NoError(t, Save(path, map[string]*graph.Array{"w": graph.Float32s([]float32{1})}, nil))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.CheckDigest())
	_, err = WithDigest(map[string]*graph.Array{"w": graph.Abstract(graph.ShapeOf(graph.Float32))}, nil)
	require.Error(t, err)
}
