package plots

import (
	"fmt"

	"xlarun/internal/chart"
	"xlarun/internal/quantity"
)

// Trials are the complete trials of a study, by number.
type Trials struct {
	Numbers []float64
	Values  []float64 // finite
	Count   int       // of all trials of the study, in whatever state
	LeftOut int       // complete trials whose value is not finite
}

// Missing says which trials cannot be drawn: "2 complete trials, whose values are infinite".
func (t Trials) Missing() string {
	return quantity.Count(t.LeftOut, "complete trial, whose value is infinite",
		"complete trials, whose values are infinite")
}

// History draws the values of a study's trials by number, and the best so far as a line, which goes on to the newest
// trial, into a file whose ending selects the format. The title says how many trials are left out.
func History(path, title, objective string, t Trials, maximize bool) error {
	if err := checkEnding(path); err != nil {
		return err
	}
	if len(t.Values) == 0 {
		if t.LeftOut > 0 {
			return fmt.Errorf("%s has %s, and no other: there is nothing to draw", title, t.Missing())
		}
		return fmt.Errorf("%s has no complete trial yet: there is nothing to draw", title)
	}
	points := chart.Dots{Points: xys(t.Numbers, t.Values), Color: colors[0], Radius: 3}
	line := chart.Line{Points: t.best(maximize), Color: colors[1], Width: 2}
	if t.LeftOut > 0 {
		title += "\nwithout " + t.Missing()
	}
	c := &chart.Chart{Title: title, XLabel: "trial", YLabel: spaced(objective), Counts: true}
	c.Add(points)
	c.Add(line)
	c.Legend("complete trials", points)
	c.Legend("best so far", line)
	return save(path, []*chart.Chart{c}, width, height)
}

// best returns the line of the best so far.
func (t Trials) best(maximize bool) (steps []chart.Point) {
	best := t.Values[0]
	for i, value := range t.Values {
		steps = append(steps, chart.Point{X: t.Numbers[i], Y: best})
		if maximize {
			best = max(best, value)
		} else {
			best = min(best, value)
		}
		if best != steps[len(steps)-1].Y {
			steps = append(steps, chart.Point{X: t.Numbers[i], Y: best})
		}
	}
	if last := float64(t.Count - 1); last > steps[len(steps)-1].X {
		steps = append(steps, chart.Point{X: last, Y: best})
	}
	return steps
}
