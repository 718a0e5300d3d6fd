package chart

import (
	"image/color"
	"math"
)

// Cell is a polygon in a color for its value, from dark blue (0) over green to yellow (1). Without corners, nothing is
// drawn.
type Cell struct {
	Corners []Point
	Value   float64
}

func (m Cell) extend(x, y *Range) { extend(x, y, m.Corners) }

func (m Cell) draw(c canvas, place func(Point) Point) {
	if len(m.Corners) == 0 {
		return
	}
	corners := mapped(m.Corners, place)
	c.fill(sequential(m.Value), corners)
	// A thin line of the same color closes the seam between neighbors.
	c.stroke(pen{sequential(m.Value), .5, nil}, append(corners, corners[0]))
}

func (m Cell) sample(c canvas, left Point) { c.fill(sequential(m.Value), box(left, sampleWidth, 12)) }

// sequentialStops are equally distant colors of the map "viridis" of van der Walt and Smith (2015).
var sequentialStops = [][3]float64{{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}

func sequential(v float64) color.NRGBA {
	at := max(0, min(v, 1)) * float64(len(sequentialStops)-1)
	i := min(int(at), len(sequentialStops)-2)
	channel := func(k int) uint8 {
		a, b := sequentialStops[i][k], sequentialStops[i+1][k]
		return uint8(math.Round(a + (at-float64(i))*(b-a)))
	}
	return color.NRGBA{channel(0), channel(1), channel(2), 255}
}
