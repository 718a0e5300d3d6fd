package plots

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"xlarun/cmd/xlarun/console"
)

// History draws the values of a study's trials, by number, and the best so far as a line, into a file whose name ends in one of the
// formats. Trials without a finite value are to be left out.
func History(path, title, objective string, number, value []float64, maximize bool) error {
	if !slices.Contains(formats, filepath.Ext(path)) {
		return console.BadInput("--out got %q, wants a file that ends in %s", path, strings.Join(formats, ", "))
	}
	if len(value) == 0 {
		return fmt.Errorf("%s has no complete trial with a finite value yet: there is nothing to draw", title)
	}
	best := slices.Clone(value)
	for i := 1; i < len(best); i++ {
		if better := max(best[i-1], best[i]); maximize {
			best[i] = better
		} else {
			best[i] = min(best[i-1], best[i])
		}
	}
	p := newPlot(title, "trial", objective)
	points, err := plotter.NewScatter(xys(number, value))
	if err != nil {
		return err
	}
	points.Color, points.Shape, points.Radius = colours[0], draw.CircleGlyph{}, vg.Points(2.5)
	line, err := plotter.NewLine(xys(number, best))
	if err != nil {
		return err
	}
	line.Color, line.Width, line.StepStyle = colours[1], vg.Points(1.5), plotter.PostStep
	p.Add(points, line)
	p.Legend.Add("complete trials", points)
	p.Legend.Add("best so far", line)
	widen(&p.X)
	widen(&p.Y)
	var picture bytes.Buffer
	w, err := p.WriterTo(width, height, strings.TrimPrefix(filepath.Ext(path), "."))
	if err == nil {
		_, err = w.WriteTo(&picture)
	}
	if err != nil {
		return fmt.Errorf("the study cannot be drawn: %w", err)
	}
	if err := write(path, picture.Bytes()); err != nil {
		return console.BadInput("--out %s cannot be written: %w", path, console.Cause(err))
	}
	return nil
}
