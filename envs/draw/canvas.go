// Package draw paints states of environments. It has a canvas in an environment's coordinates, shared colors, and
// functions that read a concrete state. A Draw method makes a canvas, reads the state (Scalars, Grid), paints, and
// returns the canvas's image, or its first error.
package draw

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"xlarun/internal/raster"
)

// MaxSide is the maximum side of an image in pixels.
const MaxSide = 8192

// The colors of drawings. Paper is the background.
var (
	Paper  = color.RGBA{0xfa, 0xfa, 0xf7, 0xff}
	Ink    = color.RGBA{0x26, 0x32, 0x38, 0xff}
	Steel  = color.RGBA{0x6b, 0x7f, 0x8c, 0xff}
	Wood   = color.RGBA{0xc9, 0x8a, 0x4b, 0xff}
	Accent = color.RGBA{0x1f, 0x77, 0xb4, 0xff}
	Signal = color.RGBA{0xd6, 0x4b, 0x3a, 0xff}
)

// Point is a point in an environment's coordinates, y upwards.
type Point struct{ X, Y float64 }

// At is the point (x, y).
func At(x, y float64) Point { return Point{x, y} }

// Polar is the point at a distance from p in a direction, an angle from straight up, clockwise.
func (p Point) Polar(angle, distance float64) Point {
	return At(p.X+distance*math.Sin(angle), p.Y+distance*math.Cos(angle))
}

// Canvas paints antialiased shapes, given in an environment's coordinates, on an image. It keeps the first error, which
// Image returns: what is read and painted after an error does not matter.
type Canvas struct {
	img    *image.RGBA
	scale  float64 // pixels for one unit
	origin Point   // pixel of the point (0, 0)
	err    error
}

// NewCanvas makes an image of size with the given view, a box of the environment's coordinates, in its middle. Errors:
// a side below 1 or above MaxSide.
func NewCanvas(size image.Point, low, high Point) *Canvas {
	c := &Canvas{}
	if size.X < 1 || size.Y < 1 || size.X > MaxSide || size.Y > MaxSide {
		c.fail(fmt.Errorf("envs: cannot draw an image of %d x %d pixels: want 1 to %d on each side", size.X, size.Y,
			MaxSide))
		size = image.Pt(1, 1)
	}
	c.img = image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(Paper), image.Point{}, draw.Src)
	c.scale = min(float64(size.X)/(high.X-low.X), float64(size.Y)/(high.Y-low.Y))
	c.origin = At(float64(size.X)/2-c.scale*(low.X+high.X)/2, float64(size.Y)/2+c.scale*(low.Y+high.Y)/2)
	return c
}

// fail keeps the first error.
func (c *Canvas) fail(err error) { c.err = cmp.Or(c.err, err) }

// Image is the painted image.
func (c *Canvas) Image() (image.Image, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.img, nil
}

// Polygon fills a closed polygon.
func (c *Canvas) Polygon(fill color.Color, points ...Point) {
	pixels := make([]Point, len(points))
	for i, p := range points {
		pixels[i] = At(c.origin.X+c.scale*p.X, c.origin.Y-c.scale*p.Y)
	}
	raster.Fill(c.img, fill, pixels)
}

// Rectangle fills an upright rectangle.
func (c *Canvas) Rectangle(fill color.Color, low, high Point) {
	c.Polygon(fill, low, At(high.X, low.Y), high, At(low.X, high.Y))
}

// Disc fills a circle.
func (c *Canvas) Disc(fill color.Color, center Point, radius float64) {
	const corners = 48
	points := make([]Point, corners)
	for i := range points {
		points[i] = center.Polar(2*math.Pi*float64(i)/corners, radius)
	}
	c.Polygon(fill, points...)
}

// Line draws a segment with round ends, at least one pixel wide.
func (c *Canvas) Line(fill color.Color, from, to Point, width float64) {
	half := max(width, 1/c.scale) / 2
	along := math.Atan2(to.X-from.X, to.Y-from.Y)
	across := along + math.Pi/2
	c.Polygon(fill, from.Polar(across, half), to.Polar(across, half), to.Polar(across, -half),
		from.Polar(across, -half))
	c.Disc(fill, from, half)
	c.Disc(fill, to, half)
}
