package graph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScatterOfNothing: an array without rows stays as it is, whatever is written into it, and so does one
// into which nothing is written. The gradients are ones and zeros.
func TestScatterOfNothing(t *testing.T) {
	for name, f := range map[string]func(x, i, u *Array, mode ...IndexMode) *Array{"add": ScatterAdd, "set": ScatterSet,
		"mul": ScatterMul, "max": ScatterMax, "min": ScatterMin} {
		for _, dims := range [][3][]int{{{0, 3}, {2}, {2, 3}}, {{0}, {2}, {2}}, {{3, 0}, {2}, {2, 0}},
			{{3, 2}, {0}, {0, 2}}, {{0, 3}, {0}, {0, 3}}, {{3}, {0}, {0}}} {
			for _, mode := range []IndexMode{FillOrDrop, ClipIndex} {
				t.Run(fmt.Sprint(name, dims, mode), func(t *testing.T) {
					x, u := Ones(ShapeOf(Float32, dims[0]...)), Ones(ShapeOf(Float32, dims[2]...))
					scatter := func(v [2]*Array) *Array {
						return f(v[0], Zeros(ShapeOf(Int32, dims[1]...)), v[1], mode)
					}
					gradient := Grad(func(v [2]*Array) *Array { return Sum(scatter(v)) })([2]*Array{x, u})
					for i, want := range []struct{ got, want *Array }{
						{scatter([2]*Array{x, u}), x}, {gradient[0], x}, {gradient[1], ZerosLike(u)}} {
						got := floatsOf(t, want.got)
						expected := floatsOf(t, want.want)
						require.Equal(t, want.want.Dims(), want.got.Dims(), "%d", i)
						require.Equal(t, expected, got, "%d", i)
					}
				})
			}
		}
	}
	none, floats := Zeros(ShapeOf(Float32, 0)), Ones(ShapeOf(Float32, 2))
	require.ErrorContains(t, Try(func() { ScatterAdd(none, floats, Scalar(1)) }), "want integers")
}
