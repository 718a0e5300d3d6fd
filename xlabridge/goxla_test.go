package xlabridge_test

import (
	"bytes"
	"errors"
	"testing"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
	"github.com/stretchr/testify/require"

	"xlarun/xlabridge"
	"xlarun/xlabridge/goxla"
	"xlarun/xlabridge/internal/inside"
	binding "xlarun/xlabridge/internal/pjrt"
)

const double = `module @double {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}`

// go-xla runs on our client and finds its programs in our cache. Its options are those of our own programs, byte for
// byte: a user's cache stays valid. A client that go-xla refused is not shared.
func TestSharedClient(t *testing.T) {
	var seen [][]byte
	compiled := 0
	share := inside.Share
	t.Cleanup(func() { inside.Share = share })
	inside.Share = func(client any, _ func(inside.Shared) error) error {
		return share(client, func(inside.Shared) error { return errors.New("refused") })
	}
	refused, err := xlabridge.Open(t.Context(), xlabridge.Options{NoCache: true})
	require.NoError(t, err)
	require.EqualError(t, goxla.Register(refused), "refused")
	require.NoError(t, refused.Close(), "go-xla does not have it")
	inside.Share = func(client any, register func(inside.Shared) error) error {
		return share(client, func(s inside.Shared) error {
			cached := s.Compile
			s.Compile = func(code []byte, format string, options []byte, compile func() unsafe.Pointer) unsafe.Pointer {
				seen = append(seen, bytes.Clone(options))
				return cached(code, format, options, func() unsafe.Pointer { compiled++; return compile() })
			}
			return register(s)
		})
	}
	ours, err := xlabridge.Open(t.Context(), xlabridge.Options{CacheDir: t.TempDir(), Devices: 2})
	require.NoError(t, err)
	require.NoError(t, goxla.Register(ours))
	require.EqualError(t, goxla.Register(ours),
		"goxla: go-xla has a client for cpu already, and a process registers one")
	plugin, err := pjrt.GetPlugin("cpu")
	require.NoError(t, err)
	theirs, err := plugin.NewClient(nil)
	require.NoError(t, err)
	require.Equal(t, 2, theirs.NumDevices())
	x, err := theirs.BufferFromHost().FromFlatDataWithDimensions([]float32{1, 2}, []int{2}).Done()
	require.NoError(t, err)
	for range 2 {
		exe, err := theirs.Compile().WithStableHLO([]byte(double)).Done()
		require.NoError(t, err)
		out, err := exe.Execute(x).Done()
		require.NoError(t, err)
		got, _, err := out[0].ToFlatDataAndDimensions()
		require.NoError(t, err)
		require.Equal(t, []float32{2, 4}, got)
		require.NoError(t, exe.Destroy())
	}
	require.Equal(t, 1, compiled, "the second one is from the cache")
	entries, err := ours.Cache().List()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "(not ours)", entries[0].Meta.Name)
	_, err = theirs.Compile().WithStableHLO([]byte(double)).WithSPMD(2).Done()
	require.NoError(t, err)
	require.Equal(t, [][]byte{binding.CompileOptions(0), binding.CompileOptions(0), binding.CompileOptions(0, 1)}, seen)
	_, err = theirs.Compile().WithStableHLO([]byte("module {")).Done()
	require.ErrorContains(t, err, "PJRT error (code=2): -:1:7: error")

	require.NoError(t, x.Destroy())
	require.NoError(t, theirs.Destroy())
	require.ErrorContains(t, ours.Close(), "is registered with go-xla")
	e, err := ours.CompileText("double", double, xlabridge.CompileOptions{})
	require.NoError(t, err, "it is open")
	require.NoError(t, e.Close())
}
