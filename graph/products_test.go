package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// A product of bools is whether both are true anywhere along the contracted axis, on the interpreter and on XLA; along
// an empty axis it is false.
func TestProductsOfBools(t *testing.T) {
	for where, backend := range xlatest.Backends(t) {
		for _, inner := range []int{0, 1, 3} {
			bits := func(dims ...int) *graph.Array {
				n := graph.Iota(dims[0] * dims[1])
				return graph.Reshape(graph.Lt(graph.Mod(graph.Mul(n, 5), 7), 2), dims...)
			}
			got, err := xlabridge.Jit2(backend, func(x, y *graph.Array) list {
				counts := graph.Dot(graph.Convert(x, graph.Int32), graph.Convert(y, graph.Int32))
				each := graph.VMap(func(row *graph.Array) *graph.Array { return graph.Dot(row, y) })(x)
				return list{graph.Gt(counts, 0), graph.Dot(x, y), graph.MatMul(x, y), each,
					graph.Einsum("ij,jk->ik", x, y)}
			})(bits(4, inner), bits(inner, 5))
			require.NoError(t, err)
			want, err := graph.Floats(graph.Convert(got[0], graph.Int32))
			require.NoError(t, err)
			for i, g := range got[1:] {
				require.Equal(t, graph.Bool, g.DType())
				have, err := graph.Floats(graph.Convert(g, graph.Int32))
				require.NoError(t, err)
				require.Equal(t, want, have, "%s, %d contracted, product %d", where, inner, i)
			}
		}
	}
}
