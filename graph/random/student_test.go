package random_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/stats"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// JAX has no multivariate t: its moments are checked. The mean is the mean, the covariance df/(df-2) times the
// scale, and each coordinate is Student's.
func TestMultivariateT(t *testing.T) {
	const n, df = 40000, 8.
	mean, scale := graph.Float32s([]float32{1, -2}), graph.Float32s([]float32{2, .6, .6, 1}, 2, 2)
	got, err := xlabridge.Jit(xlatest.OpenCPU(t, 0), func(key random.Key) []*graph.Array {
		x := random.MultivariateT(key, df, mean, scale, n)
		far := graph.IndexAxis(x, 1, 0).Sub(1).Abs().Gt(1.8595 * math.Sqrt2) // the 95th percentile
		return []*graph.Array{x.Mean(0), stats.Cov(graph.MatrixTranspose(x), 1), far.Convert(graph.Float32).Mean()}
	})(random.New(3))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1, -2}, floats(t, got[0]), .04)
	require.InDeltaSlice(t, []float64{2 * df / (df - 2), .6 * df / (df - 2), .6 * df / (df - 2), df / (df - 2)},
		floats(t, got[1]), .12)
	require.InDelta(t, .1, floats(t, got[2])[0], .006)
}
