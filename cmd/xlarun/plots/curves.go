package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"xlarun/internal/chart"
	"xlarun/rollout/run"
)

// companions are the metrics that are drawn in the chart of another metric, below its curve.
var companions = map[string][]string{"mean_fitness": {"best_ever", "best_fitness", "worst_fitness"},
	run.EvalReturn: {"mean_fitness", "recent_return"}}

// maxPoints is the largest number of points of a curve. Of more numbers it has every n-th and the last.
const maxPoints = 1000

// Curves draws a run's learning curves as a PNG: a chart for each metric that has numbers, one below the other, that of
// eval_return first if the run has evaluations. A null leaves a gap. It is an error if there is no number at all.
func Curves(dir string, metrics []string) ([]byte, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	if r.has(run.EvalReturn) && !slices.Contains(metrics, run.EvalReturn) {
		metrics = append([]string{run.EvalReturn}, metrics...)
	}
	var rows [][]*chart.Chart
	for _, metric := range metrics {
		if c := r.curves(metric); c != nil {
			rows = append(rows, []*chart.Chart{c})
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the run has no numbers to draw")
	}
	rows[0][0].Title = fmt.Sprintf("%s, seed %s", r.environment(), r.settings["seed"])
	rows[len(rows)-1][0].XLabel = spaced(r.unit)
	return chart.Draw("png", width, max(2.2*float64(len(rows)), 4)*inch, rows...)
}

// curves returns the chart of a metric and its companions, or nil if they have no numbers.
func (r *savedRun) curves(metric string) *chart.Chart {
	names := append([]string{metric}, companions[metric]...)
	c := &chart.Chart{YLabel: r.named(metric), Counts: true,
		X: &chart.Range{Min: r.steps[0], Max: r.last()}} // the same for all charts of the run
	if len(names) > 1 { // the legend has the rest of the name
		c.YLabel = c.YLabel[strings.LastIndex(c.YLabel, " ")+1:]
	}
	empty := true
	for i := len(names) - 1; i >= 0; i-- { // the metric itself last, above the others
		line := chart.Line{Color: colors[i], Width: 1.3}
		if i == 0 {
			line.Width = 2.3
		}
		if i > 0 && metric == run.EvalReturn {
			line.Color = paler(line.Color)
		}
		if names[i] == "worst_fitness" {
			line.Color = color.RGBA{170, 170, 170, 255}
		}
		pieces := r.pieces(names[i])
		for _, piece := range pieces {
			line.Points = piece
			c.Add(line)
			empty = false
		}
		if len(pieces) > 0 && len(names) > 1 {
			c.Legend(r.named(names[i]), line)
		}
	}
	if empty {
		return nil
	}
	return c
}

// pieces returns a metric over the steps at which it is measured. What is no finite number separates the pieces.
func (r *savedRun) pieces(metric string) (all [][]chart.Point) {
	c := r.columns[metric]
	if c == nil {
		return nil
	}
	finite := func(y float64) bool { return math.Abs(y) <= math.MaxFloat32 }
	count := 0
	for _, y := range c.values {
		if finite(y) {
			count++
		}
	}
	every := max(1, (count+maxPoints-1)/maxPoints)
	joined, number := false, 0 // of the finite ones before
	for i, y := range c.values {
		if !finite(y) {
			joined = false
			continue
		}
		if number++; (number-1)%every != 0 && number != count {
			continue
		}
		if !joined {
			all = append(all, nil)
		}
		joined = true
		all[len(all)-1] = append(all[len(all)-1], chart.Point{X: r.steps[c.rows[i]], Y: y})
	}
	return all
}
