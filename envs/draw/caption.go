package draw

import (
	"image"
	imagedraw "image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// CaptionFace has letters of one width, so that words do not move when numbers change.
var CaptionFace = basicfont.Face7x13

// CaptionMargin is the width of the margin around a caption, in pixels.
const CaptionMargin = 3

// CaptionHeight is the height of a caption with a number of rows, in pixels.
func CaptionHeight(rows int) int { return rows*CaptionFace.Height + CaptionMargin }

// Captioned returns a picture with rows of text above it.
func Captioned(picture image.Image, rows ...string) *image.RGBA {
	b, height := picture.Bounds(), CaptionHeight(len(rows))
	out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()+height))
	imagedraw.Draw(out, image.Rect(0, 0, b.Dx(), height), image.NewUniform(Paper), image.Point{}, imagedraw.Src)
	imagedraw.Draw(out, image.Rect(0, height, b.Dx(), out.Rect.Dy()), picture, b.Min, imagedraw.Src)
	for i, row := range rows {
		pen := font.Drawer{Dst: out, Src: image.NewUniform(Ink), Face: CaptionFace,
			Dot: fixed.P(CaptionMargin, CaptionMargin+i*CaptionFace.Height+CaptionFace.Ascent)}
		pen.DrawString(row)
	}
	return out
}
