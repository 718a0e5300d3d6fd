package bench

import (
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
)

// drawTracks draws a chart for each track, its falls in red.
func drawTracks(path string, all []track) error {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	if !slices.Contains(chart.Formats, format) {
		return console.BadInput("--out got %s, wants a file that ends with .%s", path,
			strings.Join(chart.Formats, ", ."))
	}
	var rows [][]*chart.Chart
	for _, t := range all {
		what := "seconds, wall time"
		if t.cpu {
			what = "seconds, CPU time"
		}
		c := &chart.Chart{Title: t.historyTitle(), XLabel: "commit", YLabel: what, Counts: true}
		line := chart.Line{Color: color.RGBA{31, 119, 180, 255}, Width: 2}
		fell := chart.Dots{Color: color.RGBA{214, 39, 40, 255}, Radius: 4}
		for i, p := range t.Points {
			at := chart.Point{X: float64(i), Y: p.Seconds}
			line.Points = append(line.Points, at)
			if slices.ContainsFunc(t.Falls, func(f fall) bool { return f.Commit == p.Commit }) {
				fell.Points = append(fell.Points, at)
			}
		}
		c.Add(line)
		c.Add(fell)
		rows = append(rows, []*chart.Chart{c})
	}
	picture, err := chart.Draw(format, 720, 240*float64(len(rows)), rows...)
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}
