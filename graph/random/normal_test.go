package random_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The kernel that draws normal numbers gives, to the bit, what the compiler makes of the ops. There are 2^23 numbers,
// and the long form draws nearly all of them.
func TestNormalsOfKernel(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	differ := xlabridge.Jit(xlatest.OpenCPU(t, 1), func(key random.Key) *graph.Array {
		bits := graph.Barrier(random.Bits(random.Clone(key), graph.Uint32, size))[0]
		kernel := graph.Barrier(random.Normal(key, f32(size)))[0]
		return kernel.Ne(graph.Random.Normal(bits)).Convert(graph.Int32).Sum()
	})
	calls := 1
	if long.On() {
		calls = 64
	}
	for i := range calls {
		n, err := differ(random.New(int64(i)))
		require.NoError(t, err)
		require.Equal(t, "i32[] 0", n.String())
	}
}
