package plots

import (
	"fmt"
	"slices"

	"xlarun/cmd/xlarun/plots/chart"
)

// History draws the values of a study's trials by number, and the best so far as a line, into a file whose ending
// selects the format. The values must be finite.
func History(path, title, objective string, number, value []float64, maximize bool) error {
	if err := checkEnding(path); err != nil {
		return err
	}
	if len(value) == 0 {
		return fmt.Errorf("%s has no complete trial with a finite value yet: there is nothing to draw", title)
	}
	best := slices.Clone(value)
	steps := []chart.Point{{X: number[0], Y: best[0]}}
	for i := 1; i < len(best); i++ {
		if maximize {
			best[i] = max(best[i-1], best[i])
		} else {
			best[i] = min(best[i-1], best[i])
		}
		steps = append(steps, chart.Point{X: number[i], Y: best[i-1]}, chart.Point{X: number[i], Y: best[i]})
	}
	points := chart.Dots{Points: xys(number, value), Colour: colours[0], Radius: 3}
	line := chart.Line{Points: steps, Colour: colours[1], Width: 2}
	c := &chart.Chart{Title: title, XLabel: "trial", YLabel: spaced(objective)}
	c.Add(points)
	c.Add(line)
	c.Legend("complete trials", points)
	c.Legend("best so far", line)
	return save(path, c)
}
