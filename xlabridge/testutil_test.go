package xlabridge

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/internal/budget"
	"xlarun/internal/floatmode"
	"xlarun/internal/programs"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/internal/inside"
)

func init() { inside.Observe = programs.Observe }

// open opens the CPU plugin, by default with the cache that all tests of a machine share (package xlatest).
func open(t *testing.T, o Options) *Client {
	t.Helper()
	if o.CacheDir == "" {
		if o.CacheDir = os.Getenv("XLARUN_TEST_CACHE"); o.CacheDir == "" {
			base, err := fetch.CacheDir()
			require.NoError(t, err)
			o.CacheDir = filepath.Join(base, "tests")
		}
	}
	c, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Zero(t, floatmode.Sampled(), "threads of Go that take small numbers for zero")
		require.NoError(t, budget.Programs(programs.Seen()))
	})
	return c
}

// openAlone opens the CPU plugin, by default with a cache of the test's own.
func openAlone(t *testing.T, o Options) *Client {
	t.Helper()
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	return open(t, o)
}

func compile(t *testing.T, c *Client, text string, o CompileOptions) *Executable {
	t.Helper()
	e, err := c.CompileText(t.Name(), text, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// lowered traces and lowers a function.
func lowered[A, B any](t *testing.T, target graph.Target, f func(A) B, in A) *lower.Lowered {
	t.Helper()
	p, err := graph.Trace(t.Name(), f, in)
	require.NoError(t, err)
	l, err := lower.Lower(p, target)
	require.NoError(t, err)
	return l
}

func lowered2[A, B, C any](t *testing.T, target graph.Target, f func(A, B) C, x A, y B) *lower.Lowered {
	t.Helper()
	p, err := graph.Trace2(t.Name(), f, x, y)
	require.NoError(t, err)
	l, err := lower.Lower(p, target)
	require.NoError(t, err)
	return l
}

// f32 is a vector on a device.
func f32(t *testing.T, c *Client, device int, values ...float32) *buffer {
	t.Helper()
	b, err := c.toDevice(f32Bytes(values...), dtypes.Float32, []int{len(values)}, device)
	require.NoError(t, err)
	return b
}

func f32Bytes(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// host reads a vector back.
func host(t *testing.T, b *buffer) []float32 {
	t.Helper()
	data, err := b.Bytes()
	require.NoError(t, err)
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}

const (
	// axpyText returns x*y + x and x - y.
	axpyText = `module @axpy {
  func.func public @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.multiply %x, %y : tensor<3xf32>
    %1 = stablehlo.add %0, %x : tensor<3xf32>
    %2 = stablehlo.subtract %x, %y : tensor<3xf32>
    return %1, %2 : tensor<3xf32>, tensor<3xf32>
  }
}
`
	// donateText adds one to its argument in place.
	donateText = `module @donate {
  func.func public @main(%x: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %x, %y : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
`
	// gatherText concatenates the replicas' vectors, for two replicas.
	gatherText = `module @gather attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
`
)
