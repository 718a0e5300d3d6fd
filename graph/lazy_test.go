package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What lazy arrays share is computed once, and is that of the traced program: also where the gradient of a matrix was
// moved out of the loop that its other gradients come from.
func TestLazyGradientsOfALoop(t *testing.T) {
	type params struct{ Start, Matrix, Bias *Array }
	loss := func(p params) *Array {
		_, ys := Scan(func(h, x *Array) (*Array, *Array) {
			h = Tanh(Add(Add(Dot(h, p.Matrix), p.Bias), x))
			return h, h
		}, p.Start, Reshape(Convert(Iota(8), Float32), 4, 2))
		return Sum(Square(ys))
	}
	p := params{Float32s([]float32{.1, -.2}), Float32s([]float32{.3, -.1, .2, .5}, 2, 2), Float32s([]float32{-.9, -.8})}
	norms := func(p params) *Array {
		g := Grad(loss)(p)
		return Stack([]*Array{Sum(Square(g.Start)), Sum(Square(g.Bias)), Sum(Square(g.Matrix))}, 0)
	}
	traced, err := TraceArgs("norms", []any{p}, TraceOptions{Replicas: 1}, func(args []any) any {
		return norms(args[0].(params))
	})
	require.NoError(t, err)
	out, err := traced.Interpret(Leaves(p), nil)
	require.NoError(t, err)
	want := floatsOf(t, out[0])
	require.NotContains(t, want, 0.)
	got := floatsOf(t, norms(p))
	require.InDeltaSlice(t, want, got, 1e-6)

	each, err := Eval(Grad(loss)(p))
	require.NoError(t, err)
	alone := Grad(loss)(p)
	for i, a := range Leaves(each) {
		want := floatsOf(t, Leaves(alone)[i])
		got := floatsOf(t, a)
		require.Equal(t, want, got, i)
	}
}
