package aggregate

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/oracles"
)

// Points, and intervals of the same resamples, equal rliable's. Intervals of other resamples are close to them.
// The file has two more statistics, which this package does not have.
func TestAgainstRliable(t *testing.T) {
	var file struct {
		Cases []struct {
			Scores, Points, Indices, Intervals, Many oracles.Array
			Confidence                               float64
		}
		Profiles     []struct{ Scores, Thresholds, Points, Indices, Intervals oracles.Array }
		Improvements []struct {
			X, Y, Point oracles.Array
			OfX         oracles.Array `json:"of_x"`
			OfY         oracles.Array `json:"of_y"`
			Interval    oracles.Array
		}
	}
	require.NoError(t, oracles.Read("testdata/rliable_aggregates.json.gz", &file))
	require.Greater(t, len(file.Cases), 5)
	for i, c := range file.Cases {
		scores := scoresOf(c.Scores)
		drawn, err := intervals(Options{Resamples: c.Indices.Shape[0], Confidence: c.Confidence},
			each([]Statistic{IQM, Mean}), drawsOf(t, c.Indices), scores)
		require.NoError(t, err)
		many, err := Intervals(scores, Options{Resamples: 20000, Confidence: c.Confidence, Seed: 3}, IQM, Mean)
		require.NoError(t, err)
		for k := range drawn {
			what := fmt.Sprintf("case %d, statistic %d", i+1, k)
			near := func(want, got, scale float64) {
				t.Helper()
				require.InDelta(t, want, got, 1e-12*max(1, math.Abs(scale)), what)
			}
			point, low, high := c.Points.Floats()[k], c.Intervals.Floats()[k], c.Intervals.Floats()[4+k]
			near(point, drawn[k].Point, point)
			near(low, drawn[k].Low, low)
			near(high, drawn[k].High, high)
			require.Equal(t, drawn[k].Point, many[k].Point)
			if c.Scores.Shape[0] < LeastRuns {
				require.True(t, math.IsNaN(many[k].Low) && math.IsNaN(many[k].High), what)
				continue
			}
			low, high = c.Many.Floats()[k], c.Many.Floats()[4+k]
			require.InDelta(t, low, many[k].Low, .1*(high-low)+1e-12*math.Abs(low), what)
			require.InDelta(t, high, many[k].High, .1*(high-low)+1e-12*math.Abs(high), what)
		}
	}
	require.Len(t, file.Profiles, 2)
	for i, c := range file.Profiles {
		var profile []Statistic
		for _, threshold := range c.Thresholds.Floats() {
			profile = append(profile, Above(threshold))
		}
		got, err := intervals(Options{Resamples: c.Indices.Shape[0], Confidence: .95}, each(profile),
			drawsOf(t, c.Indices), scoresOf(c.Scores))
		require.NoError(t, err)
		for k, x := range got {
			want := c.Intervals.Floats()
			require.InDeltaSlice(t, []float64{c.Points.Floats()[k], want[k], want[len(profile)+k]},
				[]float64{x.Point, x.Low, x.High}, 1e-12, "profile %d, threshold %d", i+1, k)
		}
	}
	require.Len(t, file.Improvements, 4)
	for i, c := range file.Improvements {
		ofX, ofY := drawsOf(t, c.OfX), drawsOf(t, c.OfY)
		next, inX, inY := 0, c.X.Len(), c.Y.Len()
		got, err := intervals(Options{Resamples: c.OfX.Shape[0], Confidence: .95}, improvements, func(n int) int {
			next++
			if (next-1)%(inX+inY) < inX {
				return ofX(n)
			}
			return ofY(n)
		}, scoresOf(c.X), scoresOf(c.Y))
		require.NoError(t, err)
		require.InDeltaSlice(t, append(c.Point.Floats(), c.Interval.Floats()...),
			[]float64{got[0].Point, got[0].Low, got[0].High}, 1e-12, "improvement %d", i+1)
	}
}

// scoresOf returns the scores of an array [runs, tasks].
func scoresOf(a oracles.Array) Scores {
	runs, tasks := a.Shape[0], a.Shape[1]
	scores := make(Scores, runs)
	for run := range scores {
		scores[run] = a.Floats()[run*tasks : (run+1)*tasks]
	}
	return scores
}

// drawsOf returns the numbers of recorded draws one after the other. All of them are used.
func drawsOf(t *testing.T, indices oracles.Array) func(n int) int {
	next := 0
	t.Cleanup(func() { require.Equal(t, indices.Len(), next) })
	return func(int) int {
		next++
		return int(indices.Data[next-1])
	}
}

func TestByHand(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for i, c := range []struct {
		scores Scores
		want   [2]float64 // IQM, mean
	}{
		{Of([]float64{3}), [2]float64{3, 3}},                         // 1: one run
		{Of([]float64{-100, .5, .25, 100}), [2]float64{.375, .1875}}, // 2: a quarter is cut on each side
		{Of([]float64{0, 1, 5}), [2]float64{2, 2}},                   // 3: of three scores none is cut
		{Scores{{0, 4}, {1, 5}}, [2]float64{2.5, 2.5}},               // 4: two tasks; their means .5 and 4.5
		{Scores{{0, 4, 9}}, [2]float64{13. / 3, 13. / 3}},            // 5: three tasks
		{Of([]float64{1, nan, 2, 3}), [2]float64{nan, nan}},          // 6: NaN
		{Of([]float64{1, inf, 2, 3}), [2]float64{2.5, inf}},          // 7: an infinite score is in the highest quarter
		{Of([]float64{1e308, 1, 1, -1e308}), [2]float64{1, 0}},       // 8: scores beside which float64 loses the others
		{Scores{{1, 2, 3, 4, 5, 6, 7, 8}}, [2]float64{4.5, 4.5}},     // 9: eight scores, but one run
	} {
		got, err := Intervals(c.scores, Options{}, IQM, Mean)
		require.NoError(t, err)
		for k, want := range c.want {
			what := fmt.Sprintf("case %d, statistic %d", i+1, k)
			if math.IsNaN(want) || math.IsInf(want, 0) {
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(got[k].Point), what)
				continue
			}
			require.InDelta(t, want, got[k].Point, 1e-12*max(1, math.Abs(want)), what)
			require.Equal(t, "NaN NaN", fmt.Sprint(got[k].Low, got[k].High), "%s: too few for an interval", what)
		}
	}
	eight, err := Intervals(Of([]float64{1, 1, 1, 1, 1, 1, 1, 1}), Options{}, IQM)
	require.NoError(t, err)
	require.Equal(t, Interval{1, 1, 1}, eight[0])
	better, err := Improvement(Of([]float64{1, 2, 3, 4, 5, 6, 7, 8}), Of([]float64{2, 2, 2}), Options{})
	require.NoError(t, err)
	require.Equal(t, 6.5/8, better.Point)
	require.True(t, math.IsNaN(better.Low), "three are too few")
}

func TestOptions(t *testing.T) {
	scores := Of([]float64{1, 2, 3, 4, 5, 6, 7, 8})
	a, err := Intervals(scores, Options{Seed: 1}, IQM)
	require.NoError(t, err)
	b, err := Intervals(scores, Options{Seed: 1}, IQM)
	require.NoError(t, err)
	require.Equal(t, a, b)
	narrow, err := Intervals(scores, Options{Seed: 1, Confidence: .5}, IQM)
	require.NoError(t, err)
	require.Greater(t, narrow[0].Low, a[0].Low)
	require.Less(t, narrow[0].High, a[0].High)
	for _, c := range []struct {
		scores Scores
		o      Options
		want   string
	}{
		{nil, Options{}, "got no scores"},
		{Scores{{}}, Options{}, "got no scores"},
		{Scores{{1}, {1, 2}}, Options{}, "run 0 has 1 tasks and run 1 has 2"},
		{scores, Options{Resamples: -1}, "got -1 resamples"},
		{scores, Options{Confidence: 1}, "confidence 1, want"},
		{scores, Options{Confidence: math.NaN()}, "confidence NaN, want"},
	} {
		_, err := Intervals(c.scores, c.o, Mean)
		require.ErrorContains(t, err, c.want)
	}
}
