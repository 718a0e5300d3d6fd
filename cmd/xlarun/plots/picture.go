package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours are those of Okabe and Ito, "Color universal design" (2008), which people with any sight tell apart, without yellow.
var colours = []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {60, 60, 60, 255}}

// Sizes of the picture, at 96 dots an inch.
const width, height = 8 * vg.Inch, 5 * vg.Inch

// newPlot is a picture without curves.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, spaced(x), spaced(y)
	p.Title.Padding, p.X.Padding, p.Y.Padding = vg.Points(6), vg.Points(4), vg.Points(4)
	p.Legend.Padding, p.Legend.ThumbnailWidth = vg.Points(2), vg.Points(20)
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.BackgroundColor = color.White
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 225}, color.Gray{Y: 225}
	p.Add(grid)
	return p
}

// drawn is the picture of the groups' curves.
func drawn(title, x, y string, all []group) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	most := false
	for i, g := range all {
		b := g.curve(x, y)
		if len(b.x) == 0 {
			continue
		}
		c := colours[i%len(colours)]
		if b.low != nil {
			area, err := plotter.NewPolygon(outline(b))
			if err != nil {
				return nil, err
			}
			area.Color, area.LineStyle.Width = color.NRGBA{c.R, c.G, c.B, 50}, 0
			p.Add(area)
		}
		line, err := plotter.NewLine(xys(b.x, b.mean))
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = c, vg.Points(1.5)
		if i >= len(colours) {
			line.Dashes = []vg.Length{vg.Points(float64(2 * (i / len(colours)))), vg.Points(2)}
		}
		p.Add(stroke{line})
		most = true
		if label := g.legend(); label != "" && (len(all) > 1 || len(g.runs) > 1) {
			p.Legend.Add(label, line)
		}
	}
	if !most {
		return nil, fmt.Errorf("there is no number of %s to draw", y)
	}
	widen(&p.X)
	widen(&p.Y)
	p.Y.Max += .07 * (p.Y.Max - p.Y.Min) * float64(min(len(all), 8)) // for the legend above the curves
	return p, nil
}

// stroke draws a line in pieces: what one line takes to be painted grows with the square of its points where it is jagged.
type stroke struct{ *plotter.Line }

// strokePoints are the points of a piece.
const strokePoints = 16

// Plot implements plot.Plotter.
func (s stroke) Plot(c draw.Canvas, p *plot.Plot) {
	all := s.XYs
	for begin := 0; begin < len(all)-1; begin += strokePoints {
		piece := *s.Line
		piece.XYs = all[begin:min(len(all), begin+strokePoints+1)]
		piece.Plot(c, p)
	}
}

// widen gives an axis along which nothing, or next to nothing, changes a length that ticks fit on.
func widen(a *plot.Axis) {
	if least := 1e-9 * math.Max(math.Abs(a.Min), math.Abs(a.Max)); a.Max-a.Min <= least {
		half := math.Max(.5, 1e6*least)
		a.Min, a.Max = a.Min-half, a.Max+half
	}
}

// legend says what a curve is the mean of.
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

// spaced is a metric's name for people.
func spaced(metric string) string { return strings.ReplaceAll(metric, "_", " ") }

func xys(x, y []float64) plotter.XYs {
	points := make(plotter.XYs, len(x))
	for i := range x {
		points[i].X, points[i].Y = x[i], y[i]
	}
	return points
}

// outline goes along the upper edge of a band and back along the lower one.
func outline(b band) plotter.XYs {
	points := xys(b.x, b.high)
	for i := len(b.x) - 1; i >= 0; i-- {
		points = append(points, plotter.XY{X: b.x[i], Y: b.low[i]})
	}
	for _, p := range points {
		if math.IsInf(p.Y, 0) {
			return nil
		}
	}
	return points
}
