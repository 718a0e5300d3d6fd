package graphtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// A product of bools is whether both are true anywhere along the contracted axis, on the interpreter and on XLA; along
// an empty axis it is false.
func TestProductsOfBools(t *testing.T) {
	for where, backend := range xlatest.Backends(t) {
		for _, inner := range []int{0, 1, 3} {
			bits := func(dims ...int) *Array {
				n := Iota(dims[0] * dims[1])
				return Reshape(Lt(Mod(Mul(n, 5), 7), 2), dims...)
			}
			got, err := xlabridge.Jit2(backend, func(x, y *Array) list {
				counts := Dot(Convert(x, Int32), Convert(y, Int32))
				each := VMap(func(row *Array) *Array { return Dot(row, y) })(x)
				return list{Gt(counts, 0), Dot(x, y), MatMul(x, y), each, Einsum("ij,jk->ik", x, y)}
			})(bits(4, inner), bits(inner, 5))
			require.NoError(t, err)
			want := graphtest.Floats(t, Convert(got[0], Int32))
			for i, g := range got[1:] {
				require.Equal(t, Bool, g.DType())
				have := graphtest.Floats(t, Convert(g, Int32))
				require.Equal(t, want, have, "%s, %d contracted, product %d", where, inner, i)
			}
		}
	}
}
