// Package raster fills polygons on images of pixels.
package raster

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/vector"
)

// Point is a position in pixels, y downwards.
type Point struct{ X, Y float64 }

// farthest is the largest coordinate in use. Larger ones would overflow the rasterizer's fixed-point numbers.
const farthest = 1 << 14

// Fill paints the inside of closed contours by the nonzero rule, antialiased.
func Fill[P ~struct{ X, Y float64 }](img *image.RGBA, fill color.Color, contours ...[]P) {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, contour := range contours {
		for _, p := range contour {
			q := limit(p)
			low = Point{min(low.X, q.X), min(low.Y, q.Y)}
			high = Point{max(high.X, q.X), max(high.Y, q.Y)}
		}
	}
	// The rasterizer covers only the bounding box, because its time grows with the number of pixels.
	box := image.Rect(int(math.Floor(low.X)), int(math.Floor(low.Y)), int(math.Ceil(high.X)), int(math.Ceil(high.Y)))
	if box = box.Intersect(img.Rect); box.Empty() {
		return
	}
	z := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, contour := range contours {
		for i, p := range contour {
			q := limit(p)
			x, y := float32(q.X-float64(box.Min.X)), float32(q.Y-float64(box.Min.Y))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.Draw(img, box, image.NewUniform(fill), image.Point{})
}

func limit[P ~struct{ X, Y float64 }](p P) Point {
	q := Point(p)
	return Point{min(max(q.X, -farthest), farthest), min(max(q.Y, -farthest), farthest)}
}
