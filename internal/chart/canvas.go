// Package chart draws charts (lines, bands, dots, spike rasters and heat maps with axes and a legend) as PNG, JPEG,
// TIFF, SVG, PDF and EPS.
package chart

import (
	"fmt"
	"image/color"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
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

// typeface returns the font of all text.
var typeface = sync.OnceValue(func() *sfnt.Font {
	f, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		panic(err) // the font is part of the program
	}
	return f
})

// unitSize is the size at which outlines are in font units.
func unitSize() fixed.Int26_6 { return fixed.I(int(typeface().UnitsPerEm())) }

// layout calls glyph with every glyph of a text and its offset in pixels, and returns the text's width.
func layout(text string, glyph func(g sfnt.GlyphIndex, x float64)) (width float64) {
	var b sfnt.Buffer
	f := typeface()
	for _, r := range text {
		g, err := f.GlyphIndex(&b, r)
		if err != nil {
			continue
		}
		if glyph != nil {
			glyph(g, width)
		}
		advance, _ := f.GlyphAdvance(&b, g, unitSize(), font.HintingNone)
		width += fontSize * float64(advance) / float64(unitSize())
	}
	return width
}

func textWidth(text string) float64 { return layout(text, nil) }

// curvePieces is the number of straight lines that replace a curve of a glyph.
const curvePieces = 4

// outline returns the contours of a label's glyphs on the canvas.
func (l label) outline() (contours [][]Point) {
	var b sfnt.Buffer
	scale := fontSize / float64(unitSize())
	start := -l.align * textWidth(l.string)
	layout(l.string, func(g sfnt.GlyphIndex, x float64) {
		segments, err := typeface().LoadGlyph(&b, g, unitSize(), nil)
		if err != nil {
			return
		}
		position := func(p fixed.Point26_6) Point {
			along, down := start+x+scale*float64(p.X), scale*float64(p.Y)
			if l.upward {
				along, down = down, -along
			}
			return Point{l.at.X + along, l.at.Y + down}
		}
		for _, s := range segments {
			last := len(contours) - 1
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				contours = append(contours, []Point{position(s.Args[0])})
			case sfnt.SegmentOpLineTo:
				contours[last] = append(contours[last], position(s.Args[0]))
			case sfnt.SegmentOpQuadTo: // TrueType has no other curves
				from := contours[last][len(contours[last])-1]
				contours[last] = append(contours[last], quadratic(from, position(s.Args[0]), position(s.Args[1]))...)
			}
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
