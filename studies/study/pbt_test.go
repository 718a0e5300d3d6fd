package study

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Trials are rungs of members in turn: who does badly goes on from one of the best with perturbed numbers, all others
// from themselves with their own.
func TestPBT(t *testing.T) {
	s, err := New("pbt", Options{Sampler: &PBT{Population: 10}, Seed: 3})
	require.NoError(t, err)
	space := Space{{Name: "rate", Distribution: Distribution{Kind: Float, Low: 1e-4, High: 1, Log: true}},
		{Name: "shift", Distribution: Distribution{Kind: Float, Low: -1, High: 1}},
		{Name: "units", Distribution: Distribution{Kind: Int, Low: 1, High: 9, Step: 1}},
		{Name: "kind", Distribution: Distribution{Kind: Categorical, Choices: []any{"a", "b"}}}}
	states := map[int64]float64{-1: 0} // what a trial's run has come to, by number
	var values []float64
	exploited, own := 0, 0
	for n := range int64(60) {
		x, err := s.AskSpace(space, n)
		require.NoError(t, err)
		at, ok := PlaceInPBT(x.frozen)
		require.True(t, ok)
		require.Equal(t, n/10, at.Rung)
		require.Equal(t, n%10, at.Member)
		trials, err := s.Trials()
		require.NoError(t, err)
		switch {
		case n < 10:
			require.EqualValues(t, -1, at.Parent)
		case at.Parent == n-10:
			own++
			require.Equal(t, trials[at.Parent].Params, x.frozen.Params)
		default:
			exploited++
			parent := trials[at.Parent]
			require.Equal(t, n/10-1, at.Parent/10, "of the rung before")
			below := 0
			for _, other := range trials[n/10*10-10 : n/10*10] {
				if other.State == Complete && other.Values[0] < parent.Values[0] {
					below++
				}
			}
			require.Less(t, below, 2, "one of the best two")
			p, q := parent.Params, x.frozen.Params
			require.Equal(t, p["kind"], q["kind"])
			ratio := q["rate"] / p["rate"]
			require.True(t, math.Abs(ratio-1.25) < 1e-9 || math.Abs(ratio-.8) < 1e-9 || q["rate"] == 1 || q["rate"] ==
				1e-4, ratio)
			require.True(t, math.Abs(math.Abs(q["shift"]-p["shift"])-.2) < 1e-9 || math.Abs(q["shift"]) == 1)
			require.LessOrEqual(t, math.Abs(q["units"]-p["units"]), 2.)
			require.Equal(t, math.Round(q["units"]), q["units"])
		}
		// descends best at a rate of 0.01
		states[n] = states[at.Parent] - math.Exp(-math.Pow(math.Log10(x.frozen.Params["rate"])+2, 2))
		if n == 13 {
			require.NoError(t, s.TellFailed(x, "broken"))
			continue
		}
		require.NoError(t, s.Tell(x, states[n]))
		values = append(values, states[n])
	}
	require.InDelta(t, 10, exploited, 2, "two of ten in each rung, and who failed")
	require.Positive(t, own)
	best, err := s.Best()
	require.NoError(t, err)
	require.Less(t, best[0].Values[0], -5., "%v", values)
	at, _ := PlaceInPBT(best[0])
	require.EqualValues(t, 5, at.Rung)
}

// Of a rung that is not seen whole those are compared that are; what else the study has does not matter.
func TestPBTSeesAPart(t *testing.T) {
	s, err := New("pbt", Options{Sampler: &PBT{Population: 4}})
	require.NoError(t, err)
	space := Space{{Name: "x", Distribution: Distribution{Kind: Float, Low: 1, High: 2}}}
	for n := range int64(4) {
		x, err := s.AskSpace(space, 0)
		require.NoError(t, err)
		require.NoError(t, s.Tell(x, float64(-n)))
	}
	require.NoError(t, s.Storage().Add(s.ID(), -1, &FrozenTrial{State: Complete, Values: []float64{-100}}))
	for _, c := range []struct {
		number       int
		sees, parent int64
	}{{1, 2, 1}, {2, 1, 0}, {3, 2, 1}, {4, 4, 3}} {
		x, err := s.AskSpace(space, c.sees)
		require.NoError(t, err)
		at, _ := PlaceInPBT(x.frozen)
		require.Equal(t, PBTPlace{Rung: 1, Member: int64(c.number - 1), Parent: c.parent}, at, "case %d", c.number)
	}
}
