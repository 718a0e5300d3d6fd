package bench_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/third_party/oracles"
)

// RankSum and SignedRank return scipy's exact p-values, with and without ties. Holm's correction does not depend on the
// order of the list.
func TestRankSumIsScipys(t *testing.T) {
	var file struct {
		Cases []struct {
			A, B []float64
			P    float64
		}
		Signed []struct {
			A, B []float64
			P    float64
		}
		Holm []struct{ P, Corrected []float64 }
	}
	require.NoError(t, oracles.Read("bbob/testdata/scipy_ranksum.json", &file))
	require.Len(t, file.Cases, 10)
	for i, c := range file.Cases {
		p, sign := bbob.RankSum(c.A, c.B)
		require.InDelta(t, c.P, p, 1e-10, "case %d", i)
		swapped, other := bbob.RankSum(c.B, c.A)
		require.InDelta(t, p, swapped, 1e-12, "case %d", i)
		require.Equal(t, sign, -other, "case %d", i)
	}
	require.Len(t, file.Signed, 8)
	for i, c := range file.Signed {
		p, sign := bbob.SignedRank(c.A, c.B)
		require.InDelta(t, c.P, p, 1e-10, "pairs %d", i)
		swapped, other := bbob.SignedRank(c.B, c.A)
		require.InDelta(t, p, swapped, 1e-12, "pairs %d", i)
		require.Equal(t, sign, -other, "pairs %d", i)
	}
	for i, c := range file.Holm {
		require.InDeltaSlice(t, c.Corrected, bbob.Holm(c.P), 1e-12, "case %d", i)
	}
}

func TestSignedRank(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		number int
		what   string
		a, b   []float64
		p      float64
		sign   int
	}{
		{1, "nothing", nil, nil, 1, 0},
		{2, "equals", []float64{1, 2, inf, nan}, []float64{1, 2, inf, inf}, 1, 0},
		{3, "one pair", []float64{1}, []float64{2}, 1, -1},
		{4, "all lower", []float64{1, 2, 3, 4, 5}, []float64{2, 4, 6, 8, 10}, .0625, -1},
		{5, "NaN loses", []float64{nan, nan, nan, nan, nan}, []float64{1, 2, 3, 4, 5}, .0625, 1},
	} {
		p, sign := bbob.SignedRank(c.a, c.b)
		require.InDelta(t, c.p, p, 1e-12, "case %d: %s", c.number, c.what)
		require.Equal(t, c.sign, sign, "case %d: %s", c.number, c.what)
	}
	require.Panics(t, func() { bbob.SignedRank([]float64{1}, nil) })
}

func TestRankSum(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		number int
		what   string
		a, b   []float64
		p      float64
		sign   int
	}{
		{1, "nothing", nil, nil, 1, 0},
		{2, "one side empty", []float64{1}, nil, 1, 0},
		{3, "one each", []float64{1}, []float64{2}, 1, -1},
		{4, "all equal", []float64{3, 3, 3}, []float64{3, 3}, 1, 0},
		{5, "apart", []float64{1, 2, 3}, []float64{4, 5, 6}, .1, -1},
		{6, "NaN is above infinity's equals", []float64{nan, inf, nan}, []float64{inf, nan, inf}, 1, 0},
		{7, "NaN loses", []float64{nan, nan, nan}, []float64{4, 5, 6}, .1, 1},
		{8, "infinities", []float64{-inf, -inf, -inf}, []float64{inf, inf, inf}, .1, -1},
	} {
		p, sign := bbob.RankSum(c.a, c.b)
		require.InDelta(t, c.p, p, 1e-12, "case %d: %s", c.number, c.what)
		require.Equal(t, c.sign, sign, "case %d: %s", c.number, c.what)
	}
	require.Empty(t, bbob.Holm(nil))
}
