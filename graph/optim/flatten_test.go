package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
)

// Flattened gives the same updates as the transform without it, all in float64 because one leaf is.
func TestFlattened(t *testing.T) {
	type tree struct {
		W, B  *graph.Array
		Inner []*graph.Array
	}
	draw := func(key int64, scale float64) tree {
		n := func(i int64, dims ...int) *graph.Array {
			return random.Normal(random.New(10*key+i), graph.ShapeOf(graph.Float32, dims...)).Mul(scale)
		}
		return tree{n(1, 3, 4), n(2, 4), []*graph.Array{n(3), n(4, 2, 2).Convert(graph.Float64),
			graph.Zeros(graph.ShapeOf(graph.Float32, 0, 3))}}
	}
	plain := optim.Chain(optim.ClipByGlobalNorm(.5), optim.Adam(.1))
	flat := optim.Flattened(plain)
	p, q := draw(0, 1), draw(0, 1)
	s, u := plain.Init(p), flat.Init(q)
	for i := range int64(5) {
		g := draw(i+1, float64(i)) // a gradient of zeros, too
		p, s = optim.Step(plain, p, g, s)
		q, u = optim.Step(flat, q, g, u)
		want, got := graph.Leaves(p), graph.Leaves(q)
		for k := range want {
			require.Equal(t, want[k].Shape(), got[k].Shape())
			a := floats(t, want[k])
			b := floats(t, got[k])
			require.InDeltaSlice(t, a, b, 5e-6, "step %d, leaf %d", i, k)
		}
	}
	joined := optim.Joined(draw(0, 1))
	require.Equal(t, graph.Float64, joined.DType())
	a := floats(t, joined)
	require.Len(t, a, 12+4+1+4)
	b := floats(t, optim.Joined(graph.None{}))
	require.Empty(t, b)
}

// Leaves that are not floats take no part and pass through.
func TestFlattenedOfOtherLeaves(t *testing.T) {
	type tree struct{ Count, W, C, B *graph.Array }
	p := tree{graph.Scalar(3, graph.Int32), graph.Float32s([]float32{1, 2}),
		graph.Full(graph.ShapeOf(graph.Complex64, 2), complex(1, 2)), graph.Scalar(4)}
	plain := optim.Adam(.1)
	flat := optim.Flattened(plain)
	want, _ := optim.Step(plain, p, p, plain.Init(p))
	got, _ := optim.Step(flat, p, p, flat.Init(p))
	a, b := graph.Leaves(want), graph.Leaves(got)
	for i := range a {
		require.Equal(t, a[i].Shape(), b[i].Shape())
		same := floats(t, a[i].Eq(b[i]).All())
		require.Equal(t, []float64{1}, same, i)
	}
	require.ErrorContains(t, graph.Try(func() { flat.Init(graph.Iota(3)) }), "none is a float")
}
