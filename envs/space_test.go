package envs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
)

func TestSpaces(t *testing.T) {
	in := func(s Space, x *graph.Array) bool { return floats(t, s.Contains(x))[0] == 1 }
	d := Discrete{3}
	require.Equal(t, "Discrete(3)", d.String())
	require.True(t, in(d, Steps(0)) && in(d, Steps(2)))
	require.False(t, in(d, Steps(3)) || in(d, Steps(-1)))

	b := Box{Low: []float64{-1, 0, 0, -2}, High: []float64{1, 1, 2, -1}, Dims: []int{2, 2}, DType: graph.Float32}
	require.Equal(t, "Box([-1 0 0 -2], [1 1 2 -1], [2 2], f32)", b.String())
	require.True(t, in(b, graph.Float32s([]float32{1, 0, 2, -1.5}, 2, 2)))
	require.False(t, in(b, graph.Float32s([]float32{1, 0, 2, -2.5}, 2, 2)))
	for i := range 20 {
		require.True(t, in(b, b.Sample(random.New(int64(i)))))
	}
	one := Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}
	require.True(t, in(one, one.Sample(random.New(0))))

	wide := Symmetric(1, Unbounded)
	require.ErrorContains(t, graph.Try(func() { wide.Sample(random.New(0)) }), "no bounds to draw between")
	b.High = b.High[:3]
	require.ErrorContains(t, graph.Try(func() { b.Sample(random.New(0)) }), "4 lower and 3 upper bounds")
}

func floats(t *testing.T, a *graph.Array) []float64 {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	return v
}
