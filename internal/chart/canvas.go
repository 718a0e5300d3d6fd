// Package chart draws charts (lines, bands, dots, spike rasters and heat maps with axes and a legend) as PNG, JPEG,
// TIFF, SVG, PDF and EPS.
package chart

import (
	"fmt"
	"image/color"
	"strings"
)

// Formats are the names of the formats that Draw writes.
var Formats = []string{"png", "svg", "pdf", "jpg", "tiff", "eps"}

// Inline is the format of an SVG element inside of a page. Its text and its axes have the color of the page's text.
const Inline = "inline"

// Point is a position. In a mark it is in data units, on a canvas in pixels of 1/96 inch, y downwards.
type Point struct{ X, Y float64 }

// canvas is a picture that marks are drawn on.
type canvas interface {
	// fill paints the inside of closed contours by the nonzero rule.
	fill(c color.NRGBA, contours ...[]Point)
	// stroke draws polylines. A polyline of one point is a disc as wide as the pen.
	stroke(p pen, lines ...[]Point)
	text(l label)
	encode() ([]byte, error)
}

// pen is the style of a polyline. dashes holds alternating lengths of dashes and gaps.
type pen struct {
	color  color.NRGBA
	width  float64
	dashes []float64
}

// label is a line of text. Its baseline begins, is centered or ends at a point (align 0, .5 or 1).
type label struct {
	string
	at     Point
	align  float64
	upward bool // turned by 90 degrees
}

// fontSize is the size of all text, in pixels.
const fontSize = 13

var ink = color.NRGBA{40, 40, 40, 255}

func newCanvas(format string, width, height float64) (canvas, error) {
	switch format {
	case "png", "jpg", "tiff":
		return newRaster(format, width, height), nil
	case "svg":
		return newSVG(width, height), nil
	case Inline:
		return newInline(width, height), nil
	case "pdf", "eps":
		return newPage(format, width, height), nil
	}
	return nil, fmt.Errorf("chart: unknown format %q, want one of %s", format, strings.Join(Formats, ", "))
}

// layout calls draw with every glyph of a text and its offset in pixels, and returns the text's width.
func layout(text string, draw func(glyph int, x float64)) (width float64) {
	for _, r := range text {
		glyph := glyphOf(r)
		if draw != nil {
			draw(glyph, width)
		}
		width += fontSize * float64(advanceOf(glyph)) / unitsPerEm
	}
	return width
}

func textWidth(text string) float64 { return layout(text, nil) }

// curvePieces is the number of straight lines that replace a curve of a glyph.
const curvePieces = 4

// outline returns the contours of a label's glyphs on the canvas.
func (l label) outline() (contours [][]Point) {
	const scale = float64(fontSize) / unitsPerEm
	start := -l.align * textWidth(l.string)
	layout(l.string, func(glyph int, x float64) {
		position := func(v vertex) Point {
			along, down := start+x+scale*float64(v.x), -scale*float64(v.y)
			if l.upward {
				along, down = down, -along
			}
			return Point{l.at.X + along, l.at.Y + down}
		}
		for _, contour := range contoursOf(glyph) {
			points := []Point{position(contour[0])}
			var control *vertex // of the curve that has begun
			for _, v := range contour[1:] {
				to := v
				if control != nil && !v.on {
					to = control.middle(v)
				}
				switch {
				case control != nil:
					points = append(points, quadratic(points[len(points)-1], position(*control), position(to))...)
				case v.on:
					points = append(points, position(v))
				}
				control = nil
				if !v.on {
					control = &v
				}
			}
			contours = append(contours, points)
		}
	})
	return contours
}

// quadratic returns points along a Bézier curve, without its first.
func quadratic(a, b, c Point) (points []Point) {
	for i := 1; i <= curvePieces; i++ {
		t := float64(i) / curvePieces
		u := 1 - t
		points = append(points, Point{u*u*a.X + 2*u*t*b.X + t*t*c.X, u*u*a.Y + 2*u*t*b.Y + t*t*c.Y})
	}
	return points
}
