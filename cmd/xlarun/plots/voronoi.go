package plots

import (
	"math"

	"xlarun/internal/chart"
)

// mostPolygons is the number of cells up to which the true borders of cells around centers are drawn. Of more cells,
// each is a square of the mean size.
const mostPolygons = 10_000

// corners returns the corners of a cell.
func (a *archive) corners(cell int) []chart.Point {
	at := a.centers[cell]
	w, h := a.high[0]-a.low[0], a.high[1]-a.low[1]
	switch {
	case a.sides != nil:
		return rectangle(at, w/float64(a.sides[0]), h/float64(a.sides[1]))
	case len(a.centers) > mostPolygons || len(a.centers[0]) > 2:
		side := math.Sqrt(float64(len(a.centers)))
		return rectangle(at, w/side, h/side)
	}
	return a.voronoi(cell)
}

func rectangle(center []float64, w, h float64) []chart.Point {
	x, y := center[0], center[1]
	return []chart.Point{{X: x - w/2, Y: y - h/2}, {X: x + w/2, Y: y - h/2}, {X: x + w/2, Y: y + h/2},
		{X: x - w/2, Y: y + h/2}}
}

// voronoi returns the places that are nearer to a cell's center than to all others: the rectangle of the bounds, cut
// along the middle line to each of the others. Distances are in shares of the bounds.
func (a *archive) voronoi(cell int) []chart.Point {
	w, h := a.high[0]-a.low[0], a.high[1]-a.low[1]
	scaled := func(i int) chart.Point {
		return chart.Point{X: (a.centers[i][0] - a.low[0]) / w, Y: (a.centers[i][1] - a.low[1]) / h}
	}
	center := scaled(cell)
	polygon := []chart.Point{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 1, Y: 1}, {X: 0, Y: 1}}
	farthest := 2. // at least the distance of the farthest corner
	for i := range a.centers {
		other := scaled(i)
		dx, dy := other.X-center.X, other.Y-center.Y
		if square := dx*dx + dy*dy; i == cell || square == 0 || square > 4*farthest*farthest {
			continue // the middle line does not reach the polygon
		}
		polygon = clip(polygon, func(p chart.Point) float64 {
			return (p.X-(center.X+other.X)/2)*dx + (p.Y-(center.Y+other.Y)/2)*dy
		})
		farthest = 0
		for _, p := range polygon {
			farthest = max(farthest, math.Hypot(p.X-center.X, p.Y-center.Y))
		}
	}
	for i, p := range polygon {
		polygon[i] = chart.Point{X: a.low[0] + p.X*w, Y: a.low[1] + p.Y*h}
	}
	return polygon
}

// clip returns the part of a convex polygon where a linear function is not positive (Sutherland and Hodgman, 1974).
func clip(polygon []chart.Point, beyond func(chart.Point) float64) (kept []chart.Point) {
	for i, p := range polygon {
		q := polygon[(i+1)%len(polygon)]
		a, b := beyond(p), beyond(q)
		if a <= 0 {
			kept = append(kept, p)
		}
		if a < 0 && b > 0 || a > 0 && b < 0 {
			t := a / (a - b)
			kept = append(kept, chart.Point{X: p.X + t*(q.X-p.X), Y: p.Y + t*(q.Y-p.Y)})
		}
	}
	return kept
}
