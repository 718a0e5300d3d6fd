package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// beside are the metrics that are drawn into the picture of another, behind it.
var beside = map[string][]string{"mean_fitness": {"best_ever", "best_fitness", "worst_fitness"}}

// mostPoints rows of a run are drawn as they are; of more, as many at equal distances, and the last.
const mostPoints = 1000

// Curves is a PNG of a run's learning curves: one picture below the other for each of the metrics that the run has numbers of. Rows
// without a number are gaps. It is an error where there is no number at all.
func Curves(dir string, metrics []string) ([]byte, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	var plots [][]*plot.Plot
	for _, metric := range metrics {
		p, err := r.curves(metric)
		if err != nil {
			return nil, err
		}
		if p != nil {
			plots = append(plots, []*plot.Plot{p})
		}
	}
	if len(plots) == 0 {
		return nil, fmt.Errorf("the run has no numbers to draw")
	}
	title := r.settings["env"]
	if title == "" {
		title = r.kind
	}
	plots[0][0].Title.Text = fmt.Sprintf("%s, seed %s", title, r.settings["seed"])
	plots[len(plots)-1][0].X.Label.Text = spaced(r.unit)
	high := vg.Length(2.2 * float64(vg.Inch) * float64(len(plots)))
	high = max(high, 4*vg.Inch)
	canvas := vgimg.New(width, high)
	dc := draw.New(canvas)
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: vg.Points(8), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(10)}
	for i, row := range plot.Align(plots, tiles, dc) {
		plots[i][0].Draw(row[0])
	}
	var out bytes.Buffer
	_, err = (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out)
	return out.Bytes(), err
}

// curves is the picture of a metric and of those that are drawn beside it; nil where it has no number.
func (r *savedRun) curves(metric string) (*plot.Plot, error) {
	names := append([]string{metric}, beside[metric]...)
	label := spaced(metric)
	if len(names) > 1 { // the legend says the rest
		label = label[strings.LastIndex(label, " ")+1:]
	}
	p := newPlot("", "", label)
	drawn := 0
	for i := len(names) - 1; i >= 0; i-- { // the metric itself last, above the others
		c := colours[i%len(colours)]
		if names[i] == "worst_fitness" {
			c = color.RGBA{170, 170, 170, 255}
		}
		pieces := r.pieces(names[i])
		for _, piece := range pieces {
			line, points, err := plotter.NewLinePoints(piece)
			if err != nil {
				return nil, err
			}
			line.Color, line.Width = c, vg.Points(1)
			if i == 0 {
				line.Width = vg.Points(1.75)
			}
			if len(piece) == 1 { // a line of one point is none
				points.Color, points.Shape, points.Radius = c, draw.CircleGlyph{}, vg.Points(2)
				p.Add(points)
			} else {
				p.Add(stroke{line})
			}
			if drawn++; len(names) > 1 && len(pieces) > 0 && &piece[0] == &pieces[0][0] {
				p.Legend.Add(spaced(names[i]), line)
			}
		}
		if i == 0 && len(pieces) == 0 && drawn == 0 {
			return nil, nil
		}
	}
	p.Legend.Top, p.Legend.Left = false, false
	widen(&p.X)
	widen(&p.Y)
	return p, nil
}

// pieces are a metric over the steps, cut where rows have no finite number of it.
func (r *savedRun) pieces(metric string) (all []plotter.XYs) {
	values, ok := r.column(metric)
	if !ok {
		return nil
	}
	every := max(1, (len(values)+mostPoints-1)/mostPoints)
	var piece plotter.XYs
	for i, y := range values {
		if i%every != 0 && i != len(values)-1 {
			continue
		}
		if math.IsNaN(y) || math.IsInf(y, 0) || math.Abs(y) > math.MaxFloat32 {
			if len(piece) > 0 {
				all, piece = append(all, piece), nil
			}
			continue
		}
		piece = append(piece, plotter.XY{X: r.steps[i], Y: y})
	}
	if len(piece) > 0 {
		all = append(all, piece)
	}
	return slices.Clip(all)
}
