package random_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
)

func bounds(lo, hi any) [2]any { return [2]any{lo, hi} }

// Bounds given in different ways, or beyond the dtype, that mean the same range draw the same numbers.
func TestRandintSameRange(t *testing.T) {
	const n = 50
	for _, c := range []struct {
		dtype  graph.DType
		bounds [][2]any
	}{
		{graph.Int32, [][2]any{
			bounds(math.MinInt32, int64(math.MaxInt32)+1), bounds(int64(math.MinInt64), int64(math.MaxInt64)),
			bounds(graph.Of(int64(math.MinInt64)), graph.Of(int64(math.MaxInt64))),
			bounds(math.MinInt32, graph.Of(int64(math.MaxInt32)+1)),
			bounds(graph.Of(int32(math.MinInt32)), int64(1)<<40),
			bounds(int64(-1)<<40, graph.Of(uint32(math.MaxUint32)))}},
		{graph.Int32, [][2]any{bounds(-3, 5), bounds(int8(-3), uint8(5)), bounds(graph.Of(int8(-3)), 5),
			bounds(-3, graph.Of(uint64(5)))}},
		{graph.Int64, [][2]any{bounds(int64(math.MinInt64), uint64(1)<<63), bounds(graph.Of(int64(math.MinInt64)),
			graph.Of(uint64(1)<<63)),
			bounds(int64(math.MinInt64), uint64(math.MaxUint64))}},
		{graph.Uint64, [][2]any{bounds(0, uint64(math.MaxUint64)),
			bounds(graph.Of(int8(-1)), graph.Of(uint64(math.MaxUint64)))}},
		{graph.Uint32, [][2]any{bounds(-7, int64(1)<<32), bounds(graph.Of(int32(-7)), graph.Of(int64(1)<<32)),
			bounds(0, graph.Of(uint64(math.MaxUint64)))}},
		{graph.Uint8, [][2]any{bounds(0, 256), bounds(-9, 1000), bounds(graph.Of(int16(-9)), graph.Of(int16(1000))),
			bounds(0, graph.Of(uint32(256)))}},
		{graph.Int8, [][2]any{bounds(-128, 128), bounds(graph.Of(int64(-1000)), graph.Of(int64(1000)))}},
	} {
		shape := graph.ShapeOf(c.dtype, n)
		want := random.Randint(random.New(4), shape, c.bounds[0][0], c.bounds[0][1])
		require.NotEqual(t, want.String(), random.Randint(random.New(5), shape, c.bounds[0][0],
			c.bounds[0][1]).String())
		for i, b := range c.bounds {
			same(t, want, random.Randint(random.New(4), shape, b[0], b[1]), c.dtype, i)
		}
	}
}

// An empty range gives its lower end.
func TestRandintEmptyRange(t *testing.T) {
	for _, b := range [][2]any{bounds(7, 7), bounds(7, -7), bounds(graph.Of(int32(7)), graph.Of(int32(7))),
		bounds(graph.Of(7), -100)} {
		require.Equal(t, []float64{7, 7, 7}, floats(t, random.Randint(random.New(1), i32(3), b[0], b[1])))
	}
}

// Narrow dtypes draw every number of their range.
func TestRandintWholeRange(t *testing.T) {
	seen := map[float64]int{}
	for _, x := range floats(t, random.Randint(random.New(1), graph.ShapeOf(graph.Int8, 5000), -128, 128)) {
		seen[x]++
	}
	require.Len(t, seen, 256)
	require.Positive(t, seen[-128])
	require.Positive(t, seen[127])
}
