package evolve

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/small"
	"xlarun/internal/long"
	"xlarun/xlabridge/xlatest"
)

// NEAT solves XOR in every run. Over 100 runs (XLARUN_LONG=1) it needs no more evaluations than the paper's, on
// average 4,755 with a standard deviation of 2,553, although the answers have to be better than right when rounded: the
// errors add up to less than 0.5. The worst run of the paper took 13,459.
func TestNEATSolvesXOR(t *testing.T) {
	runs, generations := 3, 150
	if long.On() {
		runs, generations = 100, 400
	}
	b := xlatest.Open(t, 1)
	sum := 0.
	for seed := range runs {
		c := solvingXOR()
		c.Seed = int64(seed)
		e, err := New(t.Context(), b, c)
		require.NoError(t, err)
		best, evaluations := math.Inf(-1), 0
		for generation := 0; best < e.target; generation++ {
			require.Less(t, generation, generations, "seed %d has reached %g", seed, best)
			best = of(t, steps(t, e, 1)[0], "best_fitness")
			evaluations += c.Population
		}
		require.NoError(t, e.Close())
		sum += float64(evaluations)
	}
	mean := sum / float64(runs)
	t.Logf("%d runs: %.0f evaluations on average", runs, mean)
	if long.On() {
		require.Less(t, mean, 4755+3*2553/math.Sqrt(float64(runs)))
	}
}
