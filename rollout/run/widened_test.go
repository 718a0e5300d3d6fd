package run

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Counts of earlier versions, which were float32, are read as what the state has now.
func TestWidened(t *testing.T) {
	old := graph.Float32s([]float32{3, 1 << 24}, 2, 1)
	for _, d := range []graph.DType{graph.Float64, graph.Int32, graph.Float32, graph.Bool} {
		now := widened(old, d)
		want := d
		if d == graph.Bool {
			want = graph.Float32
		}
		require.Equal(t, graph.ShapeOf(want, 2, 1), now.Shape())
		numbers, err := graph.Floats(now)
		require.NoError(t, err)
		require.Equal(t, []float64{3, 1 << 24}, numbers)
	}
	require.Equal(t, graph.Int32, widened(graph.Of(int32(3)), graph.Float64).DType())
	for _, x := range []float32{2.5, 1 << 31, float32(math.NaN())} {
		require.Equal(t, graph.Float32, widened(graph.Of(x), graph.Int32).DType(), "%v is no int32", x)
	}
}
