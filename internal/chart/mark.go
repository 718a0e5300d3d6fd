package chart

import (
	"image/color"
	"math"
)

// Mark is one thing that a chart shows.
type Mark interface {
	// extend widens the ranges of the axes to contain the mark.
	extend(x, y *Range)
	// draw paints the mark; place maps data to the canvas.
	draw(c canvas, place func(Point) Point)
	// sample paints the mark's sample in the legend, sampleWidth wide. left is the middle of its left edge.
	sample(c canvas, left Point)
}

const sampleWidth = 20

// Line is a polyline.
type Line struct {
	Points []Point
	Color  color.RGBA
	Width  float64
	Dashes []float64 // lengths of dashes and gaps; nil means a solid line
}

func (l Line) pen() pen { return pen{color.NRGBA(l.Color), l.Width, l.Dashes} }

func (l Line) extend(x, y *Range) { extend(x, y, l.Points) }

func (l Line) draw(c canvas, place func(Point) Point) {
	points := mapped(l.Points, place)
	if len(points) == 1 {
		c.stroke(pen{l.pen().color, 4, nil}, points)
		return
	}
	c.stroke(l.pen(), points)
}

func (l Line) sample(c canvas, left Point) {
	c.stroke(l.pen(), []Point{left, {left.X + sampleWidth, left.Y}})
}

// Dots are filled circles.
type Dots struct {
	Points []Point
	Color  color.RGBA
	Radius float64
}

func (d Dots) extend(x, y *Range) { extend(x, y, d.Points) }

func (d Dots) draw(c canvas, place func(Point) Point) {
	var dots [][]Point
	for _, p := range d.Points {
		dots = append(dots, []Point{place(p)})
	}
	c.stroke(pen{color.NRGBA(d.Color), 2 * d.Radius, nil}, dots...)
}

func (d Dots) sample(c canvas, left Point) {
	c.stroke(pen{color.NRGBA(d.Color), 2 * d.Radius, nil}, []Point{{left.X + sampleWidth/2, left.Y}})
}

// Band is the area between two curves over the same x, in a light shade of a color.
type Band struct {
	Low, High []Point
	Color     color.RGBA
}

// bandAlpha is the opacity of a band, of 255.
const bandAlpha = 50

func (b Band) shade() color.NRGBA { return color.NRGBA{b.Color.R, b.Color.G, b.Color.B, bandAlpha} }

func (b Band) extend(x, y *Range) {
	extend(x, y, b.Low)
	extend(x, y, b.High)
}

func (b Band) draw(c canvas, place func(Point) Point) {
	contour := mapped(b.High, place)
	for i := len(b.Low) - 1; i >= 0; i-- {
		contour = append(contour, place(b.Low[i]))
	}
	c.fill(b.shade(), contour)
}

func (b Band) sample(c canvas, left Point) { c.fill(b.shade(), box(left, sampleWidth, 10)) }

// Spikes are short upright strokes, .8 high in units of y.
type Spikes struct {
	Points []Point
	Color  color.RGBA
}

func (s Spikes) extend(x, y *Range) { extend(x, y, s.Points) }

func (s Spikes) draw(c canvas, place func(Point) Point) {
	high := max(2, .8*math.Abs(place(Point{0, 1}).Y-place(Point{}).Y))
	var strokes [][]Point
	for _, p := range s.Points {
		strokes = append(strokes, box(place(p), 1, high))
	}
	if len(strokes) > 0 {
		c.fill(color.NRGBA(s.Color), strokes...)
	}
}

func (s Spikes) sample(c canvas, left Point) {
	c.fill(color.NRGBA(s.Color), box(left, sampleWidth, 10))
}

// Heat is a map of values from -1 (blue) over 0 (gray) to 1 (red). Row 0 is at the bottom. NaN is white.
type Heat struct {
	Rows, Columns int
	Value         func(row, column int) float64
}

func (h Heat) extend(x, y *Range) {
	extend(x, y, []Point{{-.5, -.5}, {float64(h.Columns) - .5, float64(h.Rows) - .5}})
}

func (h Heat) draw(c canvas, place func(Point) Point) {
	for row := range h.Rows {
		for column := range h.Columns {
			v := h.Value(row, column)
			if math.IsNaN(v) {
				continue
			}
			a := whole(place(Point{float64(column) - .5, float64(row) - .5}))
			b := whole(place(Point{float64(column) + .5, float64(row) + .5}))
			c.fill(diverging(v), []Point{a, {b.X, a.Y}, b, {a.X, b.Y}})
		}
	}
}

func (h Heat) sample(canvas, Point) {}

// The ends and the middle of the diverging map of Moreland, "Diverging Color Maps for Scientific Visualization" (2009).
var cold, neutral, warm = [3]float64{59, 76, 192}, [3]float64{221, 221, 221}, [3]float64{180, 4, 38}

func diverging(v float64) color.NRGBA {
	end := warm
	if v < 0 {
		end = cold
	}
	v = min(math.Abs(v), 1)
	channel := func(i int) uint8 { return uint8(math.Round(neutral[i] + v*(end[i]-neutral[i]))) }
	return color.NRGBA{channel(0), channel(1), channel(2), 255}
}

// whole rounds a point to the corner of a pixel, so that neighboring cells leave no seam.
func whole(p Point) Point { return Point{math.Round(p.X), math.Round(p.Y)} }

// box returns a rectangle. left is the middle of its left edge.
func box(left Point, width, height float64) []Point {
	top, bottom, right := left.Y-height/2, left.Y+height/2, left.X+width
	return []Point{{left.X, top}, {right, top}, {right, bottom}, {left.X, bottom}}
}

func extend(x, y *Range, points []Point) {
	for _, p := range points {
		x.include(p.X)
		y.include(p.Y)
	}
}

func mapped(points []Point, place func(Point) Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = place(p)
	}
	return out
}
