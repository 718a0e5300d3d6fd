package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
)

// Labels, steps and lengths may have any integer dtype, also one that does not hold the number of classes or of steps.
func TestNarrowIntegers(t *testing.T) {
	zeros := func(dims ...int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, dims...)) }
	label := graph.Int32s([]int32{1, 2})
	for _, d := range []graph.DType{graph.Int8, graph.Uint8, graph.Int16, graph.Uint16, graph.Uint32, graph.Int64,
		graph.Uint64} {
		number := func(x int) *graph.Array { return graph.Scalar(x, d) }
		for i, c := range []struct {
			loss *graph.Array
			want float64
		}{
			// All spellings of 1, 2 are alike likely.
			{nn.CTC(zeros(5, 200), label.Convert(d), 5, 2), 5*math.Log(200) - math.Log(35)},
			{nn.CTC(zeros(5, 300), label.Convert(d), 5, 2), 5*math.Log(300) - math.Log(35)},
			{nn.CTC(zeros(300, 2), label.Convert(d), number(5), number(1)), 5*math.Ln2 - math.Log(15)},
			{nn.CTC(zeros(5, 200), label.Convert(d), number(6), 2), math.NaN()},
			{nn.CrossEntropy(zeros(300), number(2)), math.Log(300)},
			{nn.Embedding{Table: graph.Iota(300).Convert(graph.Float32).ExpandDims(1)}.Apply(number(2)), 2},
			{nn.Rotary(graph.Ones(graph.ShapeOf(graph.Float32, 1, 1, 2)), number(100).Reshape(1), 1), math.Cos(100) -
				math.Sin(100)},
		} {
			got := floats(t, c.loss)[0]
			if math.IsNaN(c.want) {
				require.True(t, math.IsNaN(got), "%s %d", d, i)
				continue
			}
			require.InDelta(t, c.want, got, 1e-4, "%s %d", d, i)
		}
	}
	require.InDelta(t, 5*math.Ln2-math.Log(15), floats(t, nn.CTC(zeros(9, 2), label, uint8(5), int64(1)))[0], 1e-4)
	for _, huge := range []any{int64(1 << 40), uint64(1 << 63), int64(-1 << 40)} {
		require.True(t, math.IsNaN(floats(t, nn.CTC(zeros(9, 2), label, huge, 1))[0]), huge)
	}
}

// Numbers of steps and lengths that are no integers are refused.
func TestCTCRefuses(t *testing.T) {
	x, label := graph.Zeros(graph.ShapeOf(graph.Float32, 5, 3)), graph.Int32s([]int32{1, 2})
	for _, c := range []struct {
		steps, length any
		want          string
	}{
		{5, 1.5, "nn.CTC: length is 1.5, a float64, want an integer"},
		{graph.Scalar(3.5), 1, "nn.CTC: steps is f32[], want one integer: use graph.VMap for many"},
		{5, label, "nn.CTC: length is i32[2], want one integer: use graph.VMap for many"},
		{"5", 2, "nn.CTC: steps is a string, want an integer or an integer scalar array"},
	} {
		require.ErrorContains(t, graph.Try(func() { nn.CTC(x, label, c.steps, c.length) }), c.want)
	}
}

// Of no embeddings and of one there is nothing to compare.
func TestNTXentOfNothing(t *testing.T) {
	for n := range 2 {
		loss := nn.NTXent(graph.Ones(graph.ShapeOf(graph.Float64, n, 3)), graph.Iota(n), .5)
		require.Equal(t, "f64[]", loss.Shape().String())
		require.Equal(t, []float64{0}, floats(t, loss))
	}
}
