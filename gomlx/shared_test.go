package gomlx_test

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/gomlx/go-xla/pjrt"
	"github.com/stretchr/testify/require"

	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/goxla"
)

const double = `module @double {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}`

// go-xla runs on our client and finds its programs in our cache. Its options are those of our own programs, byte for
// byte (TestCompileOptions of xlabridge): a user's cache stays valid. A client that go-xla refused is not shared.
func TestSharedClient(t *testing.T) {
	refused, err := xlabridge.Open(t.Context(), xlabridge.Options{NoCache: true})
	require.NoError(t, err)
	refuse := func(string, uintptr) error { return errors.New("refused") }
	require.EqualError(t, goxla.Register(refused, refuse), "refused")
	require.NoError(t, refused.Close(), "go-xla does not have it")
	ours, err := xlabridge.Open(t.Context(), xlabridge.Options{CacheDir: t.TempDir(), Devices: 2})
	require.NoError(t, err)
	require.NoError(t, goxla.Register(ours, pjrt.RegisterPreloadedPlugin))
	require.EqualError(t, goxla.Register(ours, pjrt.RegisterPreloadedPlugin),
		"goxla: go-xla has a client for cpu already, and a process registers one")
	plugin, err := pjrt.GetPlugin("cpu")
	require.NoError(t, err)
	theirs, err := plugin.NewClient(nil)
	require.NoError(t, err)
	require.Equal(t, 2, theirs.NumDevices())
	x, err := theirs.BufferFromHost().FromFlatDataWithDimensions([]float32{1, 2}, []int{2}).Done()
	require.NoError(t, err)
	stored := func(options string) (found []cache.Entry) {
		raw, err := hex.DecodeString(options)
		require.NoError(t, err)
		all, err := ours.Cache().List()
		require.NoError(t, err)
		for _, e := range all {
			if e.Meta.Program == cache.NewKey([]byte(double), []byte("mlir"), raw, nil).String() {
				found = append(found, e)
			}
		}
		return found
	}
	const one, both = "1a0f08ffffffffffffffffff01200128012001",
		"1a1d08ffffffffffffffffff012002280130014a0a080210011a040a020001"
	var created time.Time
	for i := range 2 {
		exe, err := theirs.Compile().WithStableHLO([]byte(double)).Done()
		require.NoError(t, err)
		out, err := exe.Execute(x).Done()
		require.NoError(t, err)
		got, _, err := out[0].ToFlatDataAndDimensions()
		require.NoError(t, err)
		require.Equal(t, []float32{2, 4}, got)
		require.NoError(t, exe.Destroy())
		entries := stored(one)
		require.Len(t, entries, 1)
		require.Equal(t, "(not ours)", entries[0].Meta.Name)
		if i == 1 {
			require.Equal(t, created, entries[0].Meta.Created, "the second one is from the cache, not stored again")
		}
		created = entries[0].Meta.Created
	}
	_, err = theirs.Compile().WithStableHLO([]byte(double)).WithSPMD(2).Done()
	require.NoError(t, err)
	require.Len(t, stored(both), 1)
	_, err = theirs.Compile().WithStableHLO([]byte("module {")).Done()
	require.ErrorContains(t, err, "PJRT error (code=2): -:1:7: error")

	require.NoError(t, x.Destroy())
	require.NoError(t, theirs.Destroy())
	require.ErrorContains(t, ours.Close(), "is registered with go-xla")
	e, err := ours.CompileText("double", double, xlabridge.CompileOptions{})
	require.NoError(t, err, "it is open")
	require.NoError(t, e.Close())
}
