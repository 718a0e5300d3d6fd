package chart

import (
	"image/color"
	"math"
)

// Cell is a polygon with a value from 0 to 1.
type Cell struct {
	Corners []Point
	Value   float64
}

// Cells is a map of polygons in colours from dark blue (0) over green to yellow (1).
type Cells struct {
	Cells []Cell
	// Sample is the value whose colour stands in the legend.
	Sample float64
}

func (m Cells) extend(x, y *Range) {
	for _, c := range m.Cells {
		extend(x, y, c.Corners)
	}
}

func (m Cells) draw(c canvas, place func(Point) Point) {
	for _, cell := range m.Cells {
		corners := mapped(cell.Corners, place)
		c.fill(sequential(cell.Value), corners)
		// A thin line of the same colour closes the seam between neighbours.
		c.stroke(pen{sequential(cell.Value), .5, nil}, append(corners, corners[0]))
	}
}

func (m Cells) sample(c canvas, left Point) { c.fill(sequential(m.Sample), box(left, sampleWidth, 12)) }

// sequentialStops are equally distant colours of the map "viridis" of van der Walt and Smith (2015).
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
