package graphtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/stats"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The edges of a histogram, and so the counts, are the same compiled and interpreted.
func TestHistogramOnItsEdges(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	counts, limits := []int{20}, [][2]float64{{-3, 7.5}, {2, 2}}
	if long.On() {
		counts, limits = []int{1, 3, 10, 20, 30}, append(limits, [2]float64{0, 1}, [2]float64{-1, 1})
	}
	for _, d := range []DType{Float32, Float64} {
		all := func(x *Array) (out []*Array) {
			for _, bins := range counts {
				for _, ends := range limits {
					low := Add(Mul(Index(x, 0), 0), ends[0])
					counts, edges := stats.Histogram(x, bins, ends[0], ends[1])
					counts2, edges2 := stats.Histogram(x, bins, low, ends[1])
					out = append(out, counts, edges, counts2, edges2)
				}
			}
			return out
		}
		x := make([]float64, 41)
		for i := range x {
			x[i] = float64(i)/20 - 1
		}
		values := Convert(Float64s(x), d)
		want, err := xlabridge.Jit(&xlabridge.Reference{}, all)(values)
		require.NoError(t, err)
		got, err := xlabridge.Jit(client, all)(values)
		require.NoError(t, err)
		for i := range want {
			graphtest.Same(t, want[i], got[i], graphtest.Tolerance{}, d, i)
		}
		// Numbers and arrays as limits.
		for i := 0; i < len(want); i += 4 {
			graphtest.Same(t, want[i+1], want[i+3], graphtest.Tolerance{}, d, i)
		}
	}
}

// Numbers that lie on the edges are counted as by jax.numpy.histogram (JAX 0.10.2, CPU, 64-bit types on). They
// are x = i / bins, rounded to the dtype, and 2x - 1 between -1 and 1.
func TestHistogramCountsAsJAX(t *testing.T) {
	for _, c := range []struct {
		d    DType
		bins int
		low  float64
		want []float64
	}{
		{Float32, 10, 0, []float64{1, 1, 1, 1, 1, 1, 1, 1, 2, 1}},
		{Float32, 10, -1, []float64{2, 0, 1, 1, 2, 0, 2, 0, 2, 1}},
		{Float32, 20, 0, []float64{1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 1, 2, 0, 2}},
		{Float32, 20, -1, []float64{1, 2, 0, 1, 1, 1, 2, 0, 2, 1, 0, 1, 2, 1, 0, 1, 1, 2, 0, 2}},
		{Float64, 10, 0, []float64{1, 1, 2, 0, 1, 2, 1, 0, 1, 2}},
		{Float64, 20, 0, []float64{1, 1, 2, 0, 1, 2, 1, 0, 1, 1, 1, 2, 0, 2, 0, 1, 2, 0, 2, 1}},
	} {
		x := make([]float64, c.bins+1)
		for i := range x {
			x[i] = float64(i) / float64(c.bins)
			if c.d == Float32 {
				x[i] = float64(float32(x[i]))
			}
			x[i] = c.low + x[i]*(1-c.low)
		}
		counts, _ := stats.Histogram(Convert(Float64s(x), c.d), c.bins, c.low, 1)
		got := graphtest.Floats(t, counts)
		require.Equal(t, c.want, got, "%s, %d intervals from %v", c.d, c.bins, c.low)
	}
}
