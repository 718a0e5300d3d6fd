package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/stats"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Compiled and interpreted give the same middle of two large numbers.
func TestMedianOfLargeNumbers(t *testing.T) {
	f := func(x *Array) []*Array {
		return []*Array{stats.Median(x, 0), stats.Quantile(x, .5, 0), stats.NanMedian(x, 0),
			VMap(func(x *Array) *Array { return stats.Median(x, 0) })(ExpandDims(x, 0))}
	}
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, xlatest.OpenCPU(t, 0)} {
		for _, c := range []struct{ a, b, want float64 }{{3e38, 3.2e38, 3.1e38}, {-3e38, 3e38, 0}, {1, 2, 1.5}} {
			out, err := xlabridge.Jit(b, f)(Float32s([]float32{float32(c.a), float32(c.b)}))
			require.NoError(t, err)
			for i, o := range out {
				v, err := Floats(o)
				require.NoError(t, err)
				require.InDelta(t, c.want, v[0], 1e-6*math.Abs(c.want), "way %d of %v", i, c)
			}
		}
	}
}
