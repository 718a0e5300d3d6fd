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
	"xlarun/rollout/aggregate"
	"xlarun/rollout/run"
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

// curvesChart returns a chart with a curve for each measure of each group.
func curvesChart(title, x string, measures []measure, all []group) (*chart.Chart, error) {
	c := &chart.Chart{Title: title, XLabel: spaced(x), YLabel: label(measures),
		Counts: x == all[0].runs[0].unit || x == run.EnvSteps}
	count := 0 // of curves
	var names []string
	for _, m := range measures {
		names = append(names, m.name(all[0]))
		for i, g := range all {
			b := g.curve(x, m.name(g))
			if len(b.x) == 0 {
				continue
			}
			number := count // of the color
			if m.pale {
				number = i
			}
			line := styled(number)
			line.Points = xys(b.x, b.center)
			if m.pale {
				line.Color, line.Width = paler(line.Color), 1.3
			}
			for _, run := range b.runs {
				if !m.pale {
					c.Add(chart.Line{Points: run, Color: paler(line.Color), Width: 1})
				}
			}
			if b.finite() && !m.pale {
				c.Add(chart.Band{Low: xys(b.x, b.low), High: xys(b.x, b.high), Color: line.Color})
			}
			c.Add(line)
			count++
			legend := ""
			if len(all) > 1 || len(g.runs) > 1 {
				legend = g.legend(m.pale)
			}
			if len(measures) > 1 {
				legend = strings.TrimSuffix(m.text(g)+": "+legend, ": ")
			}
			if legend != "" {
				c.Legend(legend, line)
			}
		}
	}
	if count == 0 {
		return nil, fmt.Errorf("there is no number of %s to draw", strings.Join(names, " and "))
	}
	return c, nil
}

// label names the measures on the axis.
func label(measures []measure) string {
	var words []string
	for _, m := range measures {
		if !m.pale {
			words = append(words, m.axis)
		}
	}
	return strings.Join(words, ", ")
}

// legend describes the runs of a curve, briefly without the interval.
func (g group) legend(briefly bool) string {
	if len(g.runs) == 1 {
		return g.label
	}
	text := fmt.Sprintf("interquartile mean of %d runs", len(g.runs))
	switch {
	case briefly:
	case len(g.runs) < aggregate.LeastRuns:
		text += ", too few for an interval"
	default:
		text += ", 95 % bootstrap interval"
	}
	if g.label != "" {
		text = g.label + ": " + text
	}
	return text
}

// styled returns the line of a curve: its color, and dashes where the colors are used up.
func styled(number int) chart.Line {
	line := chart.Line{Color: colors[number%len(colors)], Width: 2}
	if number >= len(colors) {
		line.Dashes = []float64{float64(3 * (number / len(colors))), 3}
	}
	return line
}

// paler returns a color between it and white.
func paler(c color.RGBA) color.RGBA {
	half := func(x uint8) uint8 { return uint8((int(x) + 255) / 2) }
	return color.RGBA{half(c.R), half(c.G), half(c.B), 255}
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
