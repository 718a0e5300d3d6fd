package parallelbench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// What costs are made of comes back out of them.
func TestFitCost(t *testing.T) {
	for _, want := range []Cost{{5e-3, 1e-3, 2e-5}, {2e-3, 1e-4, 1e-6}, {1e-4, 5e-4, 1e-5}} {
		var at []CostAt
		for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
			at = append(at, CostAt{n, want.Of(float64(n))})
		}
		got, err := FitCost(at)
		require.NoError(t, err)
		for _, n := range []float64{1, 10, 64, 128} {
			require.InEpsilon(t, want.Of(n), got.Of(n), .02, "%+v with %g workers: %+v", want, n, got)
		}
	}
	_, err := FitCost([]CostAt{{1, .1}, {2, .1}})
	require.ErrorContains(t, err, "wants measurements with three numbers of workers")
}

func TestSpeedUp(t *testing.T) {
	require.InDelta(t, 20, Model{Trial: 3}.SpeedUp(20), 1e-9)
	// Amdahl's law: a twentieth that cannot be done side by side.
	require.InDelta(t, 1/(.05+.95/10), Model{Trial: 1, Contention: .05 / .95 * .95}.SpeedUp(10), 1e-9)
	cost := Cost{.01, .001, 0}
	m := Model{Trial: 2, Contention: ContentionOf(2, 1.8, cost), Cost: cost}
	require.InDelta(t, 1.8, m.SpeedUp(2), 1e-9)
	require.InDelta(t, 1, m.SpeedUp(1), 1e-9)
	m.Contention = m.Allowed(20, 10)
	require.InDelta(t, 10, m.SpeedUp(20), 1e-9)
	require.InDelta(t, 1./19, Model{Trial: 1}.Allowed(20, 10), 1e-12)
	require.Negative(t, Model{Trial: .01, Cost: Cost{Serial: .01}}.Allowed(20, 10))
	require.Zero(t, ContentionOf(2, 2.3, cost))
	// One coordinator that takes a millisecond for each trial gives no more than a thousand a second.
	m = Model{Trial: .1, Cost: Cost{Serial: .001}}
	require.InDelta(t, 1000, m.SpeedUp(1e7)/.1, 1)
	require.Less(t, Model{Trial: 1, Cost: Cost{Pair: .001}}.SpeedUp(128), Model{Trial: 1, Cost: Cost{Pair: .001}}.SpeedUp(31))
}

func TestWaves(t *testing.T) {
	require.InDelta(t, 1, Waves(100, 10), 1e-12)
	require.InDelta(t, 50, 64*Waves(100, 64), 1e-12)
	require.InDelta(t, 100, 128*Waves(100, 128), 1e-12)
}

func TestStatistics(t *testing.T) {
	x := []float64{3, 1, 2}
	require.Equal(t, 2., Median(x))
	require.Equal(t, []float64{3, 1, 2}, x)
	require.Equal(t, 2.5, Median([]float64{1, 2, 3, 4}))
	require.True(t, math.IsNaN(Median(nil)))
	low, high := Spread([]float64{1, 2, 3, 4, 5})
	require.Less(t, low, 3.)
	require.Greater(t, high, 3.)
	require.InDelta(t, 1, RankCorrelation([]float64{1, 5, 9}, []float64{2, 3, 100}), 1e-12)
	require.InDelta(t, -1, RankCorrelation([]float64{1, 5, 9}, []float64{3, 2, 1}), 1e-12)
	require.Equal(t, []float64{.5, 2, .5}, ranks([]float64{1, 4, 1}))
}

func TestTiers(t *testing.T) {
	large := Tiers()[2]
	require.Equal(t, 225000, large.Episodes())
	require.Equal(t, Tier{"large", 500, 30, 3}, large.Scaled(.2))
	require.Equal(t, 20, large.Scaled(.001).Generations)
	require.Equal(t, Tiers()[0], Tiers()[0].Scaled(.1))
}
