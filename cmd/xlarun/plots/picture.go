package plots

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
)

// colors holds the palette of Okabe and Ito, "Color universal design" (2008), without yellow. Color-blind people can
// distinguish them.
var colors = []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {60, 60, 60, 255}}

// Sizes of a picture in pixels: 8 x 5 inches.
const width, height = 8 * inch, 5 * inch

const inch = 96

// endings returns the file endings of the picture formats.
func endings() (all []string) {
	for _, format := range chart.Formats {
		all = append(all, "."+format)
	}
	return all
}

// checkEnding returns an error if the ending of a file name is no picture format.
func checkEnding(path string) error {
	if !slices.Contains(endings(), filepath.Ext(path)) {
		return console.BadInput("--out got %q, wants a file that ends in %s", path, strings.Join(endings(), ", "))
	}
	return nil
}

// save draws a chart of a size in pixels into a file. The file's ending selects the format.
func save(path string, charts []*chart.Chart, width, height float64) error {
	picture, err := chart.Draw(strings.TrimPrefix(filepath.Ext(path), "."), width, height, charts)
	if err != nil {
		return err
	}
	if err := write(path, picture); err != nil {
		return console.BadInput("--out %s cannot be written: %w", path, console.Cause(err))
	}
	return nil
}

// curvesChart returns a chart with a curve for each metric of each group.
func curvesChart(title, x string, metrics []string, all []group) (*chart.Chart, error) {
	c := &chart.Chart{Title: title, XLabel: spaced(x), YLabel: spaced(strings.Join(metrics, ", ")),
		Counts: x == all[0].runs[0].unit}
	count := 0 // of curves
	for _, metric := range metrics {
		for _, g := range all {
			b := g.curve(x, metric)
			if len(b.x) == 0 {
				continue
			}
			line := chart.Line{Points: xys(b.x, b.mean), Color: colors[count%len(colors)], Width: 2}
			if count >= len(colors) {
				line.Dashes = []float64{float64(3 * (count / len(colors))), 3}
			}
			if b.finite() {
				c.Add(chart.Band{Low: xys(b.x, b.low), High: xys(b.x, b.high), Color: line.Color})
			}
			c.Add(line)
			count++
			label := ""
			if len(all) > 1 || len(g.runs) > 1 {
				label = g.legend()
			}
			if len(metrics) > 1 {
				label = strings.TrimSuffix(spaced(metric)+": "+label, ": ")
			}
			if label != "" {
				c.Legend(label, line)
			}
		}
	}
	if count == 0 {
		return nil, fmt.Errorf("there is no number of %s to draw", strings.Join(metrics, " and "))
	}
	return c, nil
}

// legend describes the runs of a curve.
func (g group) legend() string {
	if len(g.runs) == 1 {
		return g.label
	}
	text := fmt.Sprintf("mean of %d runs, %g %% confidence", len(g.runs), 100*confidence)
	if g.label != "" {
		text = g.label + ": " + text
	}
	return text
}

// spaced returns a metric's name with spaces for a label.
func spaced(metric string) string { return strings.ReplaceAll(metric, "_", " ") }

func xys(x, y []float64) []chart.Point {
	points := make([]chart.Point, len(x))
	for i := range x {
		points[i] = chart.Point{X: x[i], Y: y[i]}
	}
	return points
}

// finite reports whether the band has edges to draw.
func (b band) finite() bool {
	infinite := func(v float64) bool { return math.IsInf(v, 0) }
	return b.low != nil && !slices.ContainsFunc(b.low, infinite) && !slices.ContainsFunc(b.high, infinite)
}
