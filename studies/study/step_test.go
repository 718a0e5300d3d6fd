package study

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// decimals has bounds and steps whose sums are rounded: low + steps * step lies above high, below it, or elsewhere.
// count is the number of values.
var decimals = []struct {
	low, high, step, count float64
}{
	{.1, .7, .1, 7}, {0, .6, .2, 4}, {0, .3, .1, 4}, {.7, .8, .1, 2}, {-.7, -.1, .1, 7}, {1.1, 2.2, .1, 12},
	{0, 1, 1. / 3, 4}, {0, 1, 1. / 49, 50}, {1e9 + .1, 1e9 + .7, .1, 7}, {0, 1e8, .1, 1e9 + 1}, {.1, .75, .1, 7},
	{0, .29, .1, 3}, {1, 1, .1, 1}, {1, 1 + 1e-10, .1, 1}, {1e-3, 1e-2, 1e-3, 10},
}

func TestStepsEndAtHigh(t *testing.T) {
	for _, c := range decimals {
		d := Distribution{Kind: Float, Low: c.low, High: c.high, Step: c.step}
		require.NoError(t, d.Check())
		require.Equal(t, c.count, d.size(), "%v", d)
		top := d.top()
		require.LessOrEqual(t, top, d.High, "%v", d)
		if math.Abs(c.low+(c.count-1)*c.step-c.high) < c.step/1e3 && c.count > 1 {
			require.Equal(t, d.High, top, "%v", d)
		}
		for _, x := range []float64{top, d.Round(top), d.Round(1e300), d.At(1), d.At(math.Nextafter(1, 0)),
			d.fromUnit(1), d.unscaled(math.Inf(1))} {
			require.Equal(t, top, x, "%v", d)
		}
		for _, x := range []float64{d.Round(-1e300), d.At(0), d.fromUnit(0), d.unscaled(math.Inf(-1))} {
			require.Equal(t, d.Low, x, "%v", d)
		}
		require.True(t, d.onStep(top), "%v", d)
		if c.count < 100 {
			values := d.quantiles(3)
			require.Len(t, values, int(c.count), "%v", d)
			require.Equal(t, []float64{d.Low, top}, []float64{values[0], values[len(values)-1]}, "%v", d)
		}
	}
}

// TestEndsOfLogScales: the exponential of a logarithm is not the number.
func TestEndsOfLogScales(t *testing.T) {
	for _, d := range []Distribution{{Kind: Float, Low: .1, High: .7, Log: true}, {Kind: Float, Low: 1e-300,
		High: 1e300, Log: true}, {Kind: Float, Low: 3e-5, High: 7, Log: true}, {Kind: Float, Low: -.1, High: .7},
		{Kind: Int, Low: 3, High: 1e15, Log: true, Step: 1}, {Kind: Int, Low: -7, High: 9, Step: 3},
	} {
		require.NoError(t, d.Check())
		require.Equal(t, []float64{d.Low, d.top()}, []float64{d.At(0), d.At(1)}, "%v", d)
		require.Equal(t, []float64{d.Low, d.top()}, []float64{d.fromUnit(0), d.fromUnit(1)}, "%v", d)
		values := d.quantiles(5)
		require.Equal(t, []float64{d.Low, d.top()}, []float64{values[0], values[len(values)-1]}, "%v", d)
		require.LessOrEqual(t, d.top(), d.High)
	}
}

// TestTheTopOfDecimalSteps: all samplers stay within the bounds, and find the top as often as that of whole numbers.
func TestTheTopOfDecimalSteps(t *testing.T) {
	tops := func(s Sampler, d Distribution) (top int) {
		st, err := New("s", Options{Sampler: s, Seed: 1, Directions: []Direction{Maximize}})
		require.NoError(t, err)
		require.NoError(t, st.Optimize(context.Background(), 100, 1, func(trial *Trial) ([]float64, error) {
			v, err := trial.Suggest("x", d)
			if err != nil {
				return nil, err
			}
			x := v.(float64)
			require.True(t, d.Low <= x && x <= d.High, "%s: %v of %v", s.Name(), x, d)
			if x == d.High {
				top++
			}
			return []float64{x}, nil
		}))
		return top
	}
	samplers := func(d Distribution) []Sampler {
		grid, err := NewGrid(Space{{Name: "x", Distribution: d}}, 5)
		require.NoError(t, err)
		return []Sampler{Random{}, &Halton{}, &TPE{}, &CMAES{}, &NSGA2{Population: 10}, &PBT{}, grid}
	}
	whole := samplers(Distribution{Kind: Float, Low: 1, High: 7, Step: 1})
	d := Distribution{Kind: Float, Low: .1, High: .7, Step: .1}
	for i, s := range samplers(d) {
		want := tops(whole[i], Distribution{Kind: Float, Low: 1, High: 7, Step: 1})
		require.Positive(t, want, s.Name())
		if got := tops(s, d); s.Name() != "pbt" { // which multiplies
			require.InDelta(t, want, got, 15, s.Name())
		}
	}
}

// TestValuesBeyondHighOfEarlierVersions: a study that goes on with trials of a version that stored 0.7000000000000001
// learns from them, and its grid does not try them again.
func TestValuesBeyondHighOfEarlierVersions(t *testing.T) {
	d := Distribution{Kind: Float, Low: .1, High: .7, Step: .1}
	beyond := .1 + 6*d.Step
	require.Greater(t, beyond, d.High)
	require.True(t, d.contains(beyond))
	require.False(t, d.contains(.71))
	x, ok := d.Of(beyond)
	require.True(t, ok)
	require.Equal(t, d.High, x)
	grid, err := NewGrid(Space{{Name: "x", Distribution: d}}, 5)
	require.NoError(t, err)
	require.Equal(t, grid.key(map[string]float64{"x": d.High}), grid.key(map[string]float64{"x": beyond}))
	require.Equal(t, 7, grid.Size(), fmt.Sprint(grid.points))
}
