package xlarun_test

import (
	"encoding/base64"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/oracles"
)

func TestArrayDecodes(t *testing.T) {
	for _, c := range []struct {
		array oracles.Array
		want  []float64
	}{
		{oracles.Array{DType: "bool", Data: []byte{1, 0}}, []float64{1, 0}},
		{oracles.Array{DType: "int8", Data: []byte{0xff, 0x7f}}, []float64{-1, 127}},
		{oracles.Array{DType: "uint8", Data: []byte{0xff}}, []float64{255}},
		{oracles.Array{DType: "int16", Data: []byte{0x00, 0x80}}, []float64{-32768}},
		{oracles.Array{DType: "int64", Data: []byte{0xfe, 255, 255, 255, 255, 255, 255, 255}}, []float64{-2}},
		{oracles.Array{DType: "uint64", Data: []byte{0, 0, 0, 0, 0, 0, 0, 0x80}}, []float64{1 << 63}},
		{oracles.Array{DType: "float16", Data: []byte{0x00, 0x3c, 0x01, 0x00, 0x00, 0xfc}}, []float64{
			1, math.Ldexp(1, -24), math.Inf(-1)}},
		{oracles.Array{DType: "bfloat16", Data: []byte{0x80, 0x3f, 0x00, 0xc0}}, []float64{1, -2}},
		{oracles.Array{DType: "float32", Data: []byte{0, 0, 0xc0, 0x3f}}, []float64{1.5}},
		{oracles.Array{DType: "float64", Data: []byte{0, 0, 0, 0, 0, 0, 0xf8, 0xbf}}, []float64{-1.5}},
		{oracles.Array{DType: "complex64", Data: []byte{1, 2, 3}}, []float64{}},
	} {
		require.Equal(t, c.want, c.array.Floats(), c.array.DType)
	}
	nan := oracles.Array{DType: "float16", Data: []byte{0x01, 0x7e}}
	require.True(t, math.IsNaN(nan.Floats()[0]))
	require.Equal(t, []uint64{0x7e01}, nan.Bits())
}

func TestReadSaysWhichFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json.gz")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	require.ErrorContains(t, oracles.Read(path, new(any)), path)
	require.Error(t, oracles.Read(path+".missing", new(any)))
}

// TestCommittedVectorsAreWhole opens every committed vector file and checks that each array in it holds as many
// elements as its shape says.
func TestCommittedVectorsAreWhole(t *testing.T) {
	for _, pattern := range []string{
		"rollout/episode/testdata/member_act.json",
		"graph/testdata/jax_*.json.gz",
		"graph/optim/testdata/optax.json.gz",
		"graph/random/testdata/jax_random.json",
		"graph/neuron/testdata/brian2_neurons.json.gz",
		"envs/classic/testdata/*.json.gz", "envs/minatar/testdata/*.json.gz",
		"envs/small/testdata/*.json.gz",
		"rollout/evolve/strategy/testdata/evosax_openes.json",
	} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			var doc map[string]any
			require.NoError(t, oracles.Read(path, &doc))
			require.NotEmpty(t, doc["versions"], path)
			require.Positive(t, checkArrays(t, path, doc), path)
		}
	}
}

// checkArrays walks decoded JSON and returns the number of arrays found.
func checkArrays(t *testing.T, path string, node any) int {
	t.Helper()
	found := 0
	switch v := node.(type) {
	case []any:
		for _, child := range v {
			found += checkArrays(t, path, child)
		}
	case map[string]any:
		if data, ok := v["data"].(string); ok {
			raw, err := base64.StdEncoding.DecodeString(data)
			require.NoError(t, err, path)
			array := oracles.Array{DType: v["dtype"].(string), Data: raw}
			want := 1
			for _, n := range v["shape"].([]any) {
				want *= int(n.(float64))
			}
			require.Equal(t, want*array.Width(), len(raw), "%s: %v", path, v["dtype"])
			return 1
		}
		for _, child := range v {
			found += checkArrays(t, path, child)
		}
	}
	return found
}
