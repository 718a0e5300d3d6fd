package plots

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/chart"
)

// TestCurvesReachTheEnd: a curve ends at the last number of its metric, whatever is left out before it. A
// metric that is not measured in every row is one line; null is a gap.
func TestCurvesReachTheEnd(t *testing.T) {
	for _, c := range []struct {
		name     string
		rows     int
		value    func(step int) string // "": the row does not have it
		pieces   int
		most     int // points
		from, to float64
	}{
		{"each row", 30, func(step int) string { return "1" }, 1, 30, 1, 30},
		{"many rows", 2001, func(step int) string { return "1" }, 1, maxPoints + 1, 1, 2001},
		{"every tenth", 95, func(step int) string {
			return map[bool]string{true: "2"}[step%10 == 0 || step == 95]
		}, 1, 10, 10, 95},
		{"every tenth of many", 4000, func(step int) string { // once all but the last were left out
			return map[bool]string{true: "2"}[step%10 == 0]
		}, 1, 400, 10, 4000},
		{"once", 3, func(step int) string { return map[bool]string{true: "2"}[step == 2] }, 1, 1, 2, 2},
		{"a gap", 30, func(step int) string {
			return map[bool]string{true: "null", false: "1"}[step == 10 || step == 11]
		}, 2, 28, 1, 30},
		{"null at the end", 2003, func(step int) string {
			return map[bool]string{true: "null", false: "1"}[step > 2000]
		}, 1, maxPoints + 1, 1, 2000},
		{"every other is null", 3000, func(step int) string {
			return map[bool]string{true: "null", false: "1"}[step%2 == 1]
		}, 751, maxPoints, 2, 3000},
	} {
		var rows []string
		for step := 1; step <= c.rows; step++ {
			more := ""
			if value := c.value(step); value != "" {
				more = `,"y":` + value
			}
			rows = append(rows, fmt.Sprintf(`{"generation":%d,"other":1%s}`, step, more))
		}
		r, err := readRun(saveRun(t, t.TempDir(), "a", seeded("1"), rows...))
		require.NoError(t, err)
		pieces := r.pieces("y")
		require.Len(t, pieces, c.pieces, c.name)
		points := 0
		for _, piece := range pieces {
			points += len(piece)
		}
		require.LessOrEqual(t, points, c.most, c.name)
		require.GreaterOrEqual(t, points, min(c.most, maxPoints/2), c.name)
		require.Equal(t, c.from, pieces[0][0].X, c.name)
		last := pieces[len(pieces)-1]
		require.Equal(t, c.to, last[len(last)-1].X, c.name)
		require.Equal(t, &chart.Range{Min: 1, Max: float64(c.rows)}, r.curves("y").X, c.name)
		x, _ := r.points("generation", "y")
		require.Equal(t, c.to, x[len(x)-1], "%s: xlarun plot", c.name)
	}
}

// TestHistoryReachesTheEnd: the best so far goes on to the newest trial, complete or not.
func TestHistoryReachesTheEnd(t *testing.T) {
	for _, c := range []struct {
		trials   Trials
		maximize bool
		x, y     []float64
	}{
		{Trials{[]float64{0}, []float64{5}, 1, 0}, true, []float64{0}, []float64{5}},
		{Trials{[]float64{2}, []float64{5}, 8, 0}, true, []float64{2, 7}, []float64{5, 5}},
		{Trials{[]float64{0, 1, 3}, []float64{2, 1, 4}, 4, 0}, true, []float64{0, 1, 3, 3}, []float64{2, 2, 2, 4}},
		{Trials{[]float64{0, 1, 3}, []float64{2, 1, 4}, 6, 0}, false, []float64{0, 1, 1, 3, 5},
			[]float64{2, 2, 1, 1, 1}},
	} {
		require.Equal(t, xys(c.x, c.y), c.trials.best(c.maximize), "%v", c.trials)
		out := filepath.Join(t.TempDir(), "a.svg")
		require.NoError(t, History(out, "a study", "the_loss", c.trials, c.maximize))
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Contains(t, string(text), "the loss")
		require.NotContains(t, string(text), ">0.5<", "there is no trial 0.5")
		require.Positive(t, strings.Count(string(text), "<path"))
	}
	require.ErrorContains(t, History("a.png", "a study", "x", Trials{Count: 3}, true), "there is nothing to draw")
}
