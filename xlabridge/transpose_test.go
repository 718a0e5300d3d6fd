package xlabridge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Transposes call the kernel and move each element to its place: in whole blocks, at the ends of rows and columns, of
// several matrices, of floats and of whole numbers.
func TestStoredTransposes(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	var calls []sample
	for _, s := range []struct {
		name string
		dims []int
		perm []int
	}{
		{"whole blocks", []int{128, 160}, []int{1, 0}},
		{"ends of rows and columns", []int{133, 131}, []int{1, 0}},
		{"many columns", []int{9, 2000}, []int{1, 0}},
		{"several matrices", []int{3, 130, 150}, []int{0, 2, 1}},
		{"several axes", []int{20, 15, 7, 9}, []int{2, 3, 0, 1}},
	} {
		for _, d := range []graph.DType{graph.Float32, graph.Int32, graph.Uint32} {
			n := graph.ShapeOf(d, s.dims...).Size()
			x := graph.Convert(graph.Reshape(graph.Mul(graph.Iota(n), 7919),
				s.dims...), d)
			f := func(x *array) *array { return graph.Transpose(x, s.perm...) }
			l := lowered(t, c.Target(), f, x)
			require.Equal(t, 1, strings.Count(l.StableHLO, `"xlarun_transpose"`), s.name)
			calls = append(calls, sample{s.name + " of " + d.String(),
				func(in []*array) []*array { return []*array{f(in[0])} }, []*array{x}})
		}
	}
	for k, got := range together(t, c, calls) {
		require.Equal(t, parts(t, calls[k].f(calls[k].in)[0]), parts(t, got[0]), calls[k].name)
	}
}
