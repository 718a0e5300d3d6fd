package chart

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"

	pixels "xlarun/internal/raster"
)

// raster is a canvas of pixels.
type raster struct {
	format string
	image  *image.RGBA
}

func newRaster(format string, width, height float64) *raster {
	r := &raster{format, image.NewRGBA(image.Rect(0, 0, int(math.Ceil(width)), int(math.Ceil(height))))}
	draw.Draw(r.image, r.image.Rect, image.White, image.Point{}, draw.Src)
	return r
}

func (r *raster) fill(c color.NRGBA, contours ...[]Point) { pixels.Fill(r.image, c, contours...) }

// stroke fills a rectangle for each segment and a wedge at each corner. All have the same orientation, so the nonzero
// rule fills an overlap once.
func (r *raster) stroke(p pen, lines ...[]Point) {
	var contours [][]Point
	half := p.width / 2
	for _, line := range dashed(lines, p.dashes) {
		if len(line) == 1 {
			contours = append(contours, disc(line[0], half))
			continue
		}
		var before Point // the normal of the previous segment
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			length := math.Hypot(b.X-a.X, b.Y-a.Y)
			if length == 0 {
				continue
			}
			n := Point{-(b.Y - a.Y) / length * half, (b.X - a.X) / length * half}
			contours = append(contours, []Point{{a.X + n.X, a.Y + n.Y}, {b.X + n.X, b.Y + n.Y},
				{b.X - n.X, b.Y - n.Y}, {a.X - n.X, a.Y - n.Y}})
			switch turn := before.X*n.Y - before.Y*n.X; {
			case turn > 0: // the outer side is against the normals
				contours = append(contours, []Point{a, {a.X - n.X, a.Y - n.Y}, {a.X - before.X, a.Y - before.Y}})
			case turn < 0:
				contours = append(contours, []Point{a, {a.X + n.X, a.Y + n.Y}, {a.X + before.X, a.Y + before.Y}})
			}
			before = n
		}
	}
	r.fill(p.color, contours...)
}

// disc returns a polygon close to a circle, with the orientation that stroke needs.
func disc(center Point, radius float64) (points []Point) {
	const corners = 24
	for i := range corners {
		sin, cos := math.Sincos(-2 * math.Pi * float64(i) / corners)
		points = append(points, Point{center.X + radius*cos, center.Y + radius*sin})
	}
	return points
}

// dashed cuts lines into dashes.
func dashed(lines [][]Point, dashes []float64) (pieces [][]Point) {
	if len(dashes) == 0 {
		return lines
	}
	for _, line := range lines {
		k, left := 0, dashes[0]
		piece := []Point{line[0]}
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			length, along := math.Hypot(b.X-a.X, b.Y-a.Y), 0.
			for ; left < length-along; k, left = k+1, dashes[(k+1)%len(dashes)] {
				along += left
				end := Point{a.X + (b.X-a.X)*along/length, a.Y + (b.Y-a.Y)*along/length}
				if k%2 == 0 {
					pieces = append(pieces, append(piece, end))
				}
				piece = []Point{end}
			}
			left -= length - along
			piece = append(piece, b)
		}
		if k%2 == 0 && len(piece) > 1 {
			pieces = append(pieces, piece)
		}
	}
	return pieces
}

func (r *raster) text(l label) { r.fill(ink, l.outline()...) }

func (r *raster) encode() ([]byte, error) {
	var out bytes.Buffer
	var err error
	switch r.format {
	case "jpg":
		err = jpeg.Encode(&out, r.image, &jpeg.Options{Quality: 92})
	case "tiff":
		return encodeTIFF(r.image)
	default:
		err = png.Encode(&out, r.image)
	}
	return out.Bytes(), err
}
