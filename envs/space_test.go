package envs_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

func TestSpaces(t *testing.T) {
	in := func(s envs.Space, x *graph.Array) bool { return floats(t, s.Contains(x))[0] == 1 }
	d := envs.Discrete{N: 3}
	require.Equal(t, "Discrete(3)", d.String())
	require.True(t, in(d, envs.Steps(0)) && in(d, envs.Steps(2)))
	require.False(t, in(d, envs.Steps(3)) || in(d, envs.Steps(-1)))

	b := envs.Box{Low: []float64{-1, 0, 0, -2}, High: []float64{1, 1, 2, -1}, Dims: []int{2, 2}, DType: graph.Float32}
	require.Equal(t, "Box([-1 0 0 -2], [1 1 2 -1], [2 2], f32)", b.String())
	require.True(t, in(b, graph.Float32s([]float32{1, 0, 2, -1.5}, 2, 2)))
	require.False(t, in(b, graph.Float32s([]float32{1, 0, 2, -2.5}, 2, 2)))
	for i := range 20 {
		require.True(t, in(b, b.Sample(random.New(int64(i)))))
	}
	one := envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}
	require.True(t, in(one, one.Sample(random.New(0))))

	wide := envs.Symmetric(1, envs.Unbounded)
	require.ErrorContains(t, graph.Try(func() { wide.Sample(random.New(0)) }), "is unbounded")
	b.High = b.High[:3]
	require.ErrorContains(t, graph.Try(func() { b.Sample(random.New(0)) }), "4 lower and 3 upper bounds")
}

// Boxes of bools and whole numbers: what is drawn has the dtype, lies inside, and reaches both bounds.
func TestSpacesOfWholeNumbers(t *testing.T) {
	for number, b := range []envs.Box{
		{Low: []float64{0}, High: []float64{1}, Dims: []int{64}, DType: graph.Bool},
		{Low: []float64{0}, High: []float64{255}, Dims: []int{8, 500}, DType: graph.Uint8},
		{Low: []float64{-2}, High: []float64{3}, Dims: []int{64}, DType: graph.Int32},
		{Low: []float64{-1, 5}, High: []float64{0, 6}, Dims: []int{2}, DType: graph.Int8},
	} {
		var drawn []float64
		for i := range 16 {
			x := b.Sample(random.New(int64(i)))
			require.Equal(t, b.Shape(), x.Shape(), "case %d", number)
			require.Equal(t, 1., floats(t, b.Contains(x))[0], "case %d", number)
			drawn = append(drawn, floats(t, x)...)
		}
		require.Equal(t, slices.Min(b.Low), slices.Min(drawn), "case %d", number)
		require.Equal(t, slices.Max(b.High), slices.Max(drawn), "case %d", number)
	}
	wide := envs.Box{Low: []float64{0}, High: []float64{1 << 40}, Dims: []int{1}, DType: graph.Int64}
	require.ErrorContains(t, graph.Try(func() { wide.Sample(random.New(0)) }), "bounds outside int32")
	narrow := envs.Box{Low: []float64{1}, High: []float64{1}, Dims: []int{2}, DType: graph.Bool}
	require.Equal(t, 0., floats(t, narrow.Contains(graph.Zeros(narrow.Shape())))[0])
}
