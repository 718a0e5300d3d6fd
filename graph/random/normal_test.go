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

// The kernel that draws normal numbers gives, to the bit, what both emitters of the compiler make of the ops, outside
// of loops and in them. There are 2^23 numbers, and the long form draws nearly all of them.
func TestNormalsOfKernel(t *testing.T) {
	t.Parallel()
	const size, steps = 1 << 19, 2
	differences := func(key random.Key) *graph.Array {
		bits := graph.Barrier(random.Bits(random.Clone(key), graph.Uint32, size))[0]
		kernel := graph.Barrier(random.Normal(key, f32(size)))[0]
		return kernel.Ne(graph.Random.Normal(bits)).Convert(graph.Int32).Sum()
	}
	calls := 1
	if long.On() {
		calls = 64
	}
	c := xlatest.OpenCPU(t, 1)
	for name, differ := range map[string]func(key random.Key) *graph.Array{
		"alone": differences,
		"in a scan": func(key random.Key) *graph.Array {
			_, n := graph.Scan(func(none graph.None, i *graph.Array) (graph.None, *graph.Array) {
				return none, differences(random.FoldIn(key, i))
			}, graph.None{}, graph.Iota(steps))
			return n.Sum()
		},
	} {
		emitters := map[string]map[string]any{"older": nil, "newer": {"xla_backend_extra_options": ""}}
		for emitter, options := range emitters {
			run := xlabridge.Jit(c, differ, xlabridge.JitOptions{Compile: xlabridge.CompileOptions{XLA: options}})
			for i := range calls {
				n, err := run(random.New(int64(i)))
				require.NoError(t, err)
				require.Equal(t, "i32[] 0", n.String(), "%s, %s emitter", name, emitter)
			}
		}
	}
}
