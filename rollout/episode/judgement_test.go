package episode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudgement(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		number                   int
		what                     string
		returns, lengths         []float64
		mean, std, error, length float64
		failed, full             int // full: of 5 steps
	}{
		{1, "numbers", []float64{1, 2, 6}, []float64{4, 5, 9}, 3, math.Sqrt(7), math.Sqrt(7. / 3), 6, 0, 1},
		{2, "one: its spread is not known (27.49)", []float64{-5}, []float64{7}, -5, nan, nan, 7, 0, 0},
		{3, "what is no number is left out", []float64{1, nan, 3}, []float64{4, 5, 8}, 2, math.Sqrt2, 1, 6, 1, 0},
		{4, "and what is infinite", []float64{inf, 1, 3, -inf}, []float64{1, 4, 8, 1}, 2, math.Sqrt2, 1, 6, 2, 0},
		{5, "nothing but failures", []float64{inf, nan}, []float64{4, 5}, -inf, nan, nan, 0, 2, 0},
		{6, "one beside a failure", []float64{nan, 2}, []float64{4, 5}, 2, nan, nan, 5, 1, 1},
	} {
		j := judge(c.returns, c.lengths, 5)
		for i, pair := range [][2]float64{{c.std, j.Std}, {c.error, j.Error}, {c.length, j.Length}} {
			require.Equal(t, math.IsNaN(pair[0]), math.IsNaN(pair[1]), "case %d: %s: %d", c.number, c.what, i)
			if !math.IsNaN(pair[0]) {
				require.InDelta(t, pair[0], pair[1], 1e-12, "case %d: %s: %d", c.number, c.what, i)
			}
		}
		require.Equal(t, c.mean, j.Mean, "case %d: %s", c.number, c.what)
		require.Equal(t, c.failed, j.Failed, "case %d: %s", c.number, c.what)
		require.Equal(t, c.full, j.Full, "31.349 case %d: %s", c.number, c.what)
		none := 0
		for _, x := range j.Return {
			require.False(t, math.IsInf(x, 0), "case %d: %s", c.number, c.what)
			if math.IsNaN(x) {
				none++
			}
		}
		require.Equal(t, c.failed, none, "case %d: %s", c.number, c.what)
	}
}
