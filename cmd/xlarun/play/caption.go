package play

import (
	"fmt"
	"image"
	"image/draw"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	colours "xlarun/envs/draw"
	"xlarun/rollout/episode"
)

// face has letters of one width, so that words do not move when numbers change.
var face = basicfont.Face7x13

const margin = 3 // pixels around a caption

// captions holds the layout of the text above the frames of a recording.
type captions struct {
	rec    *episode.Recording
	seed   string
	digits int // digits of the largest step
	width  int // characters of the longest return
	rows   int // 1, or 2 if the text is wider than the frame
}

func newCaptions(rec *episode.Recording, seed int64, pixels int) captions {
	c := captions{rec: rec, seed: "seed " + strconv.FormatInt(seed, 10), digits: len(strconv.Itoa(rec.Length)), rows: 1}
	for i := range rec.Length + 1 {
		c.width = max(c.width, len(number(rec.Return(i))))
	}
	if font.MeasureString(face, c.text(0)[0]).Ceil()+2*margin > pixels {
		c.rows = 2
	}
	return c
}

// text returns the rows of the caption of a step.
func (c captions) text(step int) []string {
	played := fmt.Sprintf("step %*d  return %*s", c.digits, step, c.width, number(c.rec.Return(step)))
	if c.rows == 1 {
		return []string{played + "  " + c.seed}
	}
	return []string{played, c.seed}
}

// height returns the height of a caption in pixels.
func (c captions) height() int { return c.rows*face.Height + margin }

// above returns a picture with the caption of a step above it.
func (c captions) above(picture image.Image, step int) *image.RGBA {
	b := picture.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()+c.height()))
	draw.Draw(out, out.Rect, image.NewUniform(colours.Paper), image.Point{}, draw.Src)
	draw.Draw(out, image.Rect(0, c.height(), b.Dx(), out.Rect.Dy()), picture, b.Min, draw.Src)
	for i, row := range c.text(step) {
		pen := font.Drawer{Dst: out, Src: image.NewUniform(colours.Ink), Face: face,
			Dot: fixed.P(margin, margin+i*face.Height+face.Ascent)}
		pen.DrawString(row)
	}
	return out
}
