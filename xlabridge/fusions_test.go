package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/hlo"
)

// An entry of the cache lacks the bodies of fusions, and a program that comes from it gives the same bytes as the one
// that was compiled: with fusions that a library reads when it runs, with several results, and in loops.
func TestEntriesWithoutFusions(t *testing.T) {
	dir := t.TempDir()
	x := graph.Reshape(graph.Sin(graph.Arange(0, 4096, 1)), 64, 64)
	cases := []struct {
		name string
		f    func(x *array) *array
	}{
		{"elements", func(x *array) *array { return graph.Add(graph.Exp(x), graph.Mul(x, x)) }},
		{"product and sums", func(x *array) *array {
			return graph.Softmax(graph.Dot(graph.Relu(x), graph.Transpose(x)), 1)
		}},
		{"several results of one fusion", func(x *array) *array {
			y := graph.Tanh(x)
			return graph.Concatenate(0, graph.Sum(y, 0), graph.ReduceMax(y, 0), graph.Sum(graph.Mul(y, x), 1))
		}},
		{"a loop", func(x *array) *array {
			y, _ := graph.Scan(func(c, i *array) (*array, graph.None) {
				return graph.Sub(graph.Mul(c, 1.01), graph.Dot(graph.Tanh(c), graph.Mul(c, .001))), graph.None{}
			}, x, graph.Iota(5))
			return y
		}},
	}
	want := make([][]float64, len(cases))
	for i, state := range []string{cache.Miss, cache.Hit} {
		c := open(t, Options{CacheDir: dir})
		p, err := graph.Trace("fusions", func(x *array) (out []*array) {
			for _, s := range cases {
				out = append(out, s.f(x))
			}
			return out
		}, x)
		require.NoError(t, err)
		e, err := c.Compile(p, CompileOptions{})
		require.NoError(t, err)
		require.Equal(t, state, e.Executable.Info().Cache)
		out, err := e.Call([]*array{x})
		require.NoError(t, err)
		for k, s := range cases {
			got := parts(t, out[k])
			if i == 0 {
				want[k] = got
			}
			require.Equal(t, want[k], got, s.name)
		}
		if i == 1 {
			format, code, err := e.Executable.Optimized()
			require.NoError(t, err)
			_, err = hlo.Parse(format, code)
			require.NoError(t, err)
			require.Contains(t, string(code), "fused")
		}
	}
}
