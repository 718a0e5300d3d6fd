package play

import (
	"fmt"
	"image"
	"strconv"

	"golang.org/x/image/font"

	"xlarun/envs/draw"
	"xlarun/rollout/episode"
)

// captions holds the layout of the text above the frames of a recording.
type captions struct {
	rec    *episode.Recording
	which  string // episode
	digits int    // digits of the largest step
	width  int    // characters of the longest return
	rows   int    // 1, or 2 if the text is wider than the frame
}

func newCaptions(rec *episode.Recording, which string, pixels int) captions {
	c := captions{rec: rec, which: which, digits: len(strconv.Itoa(rec.Length)), rows: 1}
	for i := range rec.Length + 1 {
		c.width = max(c.width, len(returnText(rec.Return(i))))
	}
	if font.MeasureString(draw.CaptionFace, c.text(0)[0]).Ceil()+2*draw.CaptionMargin > pixels {
		c.rows = 2
	}
	return c
}

// text returns the rows of the caption of a step.
func (c captions) text(step int) []string {
	played := fmt.Sprintf("step %*d  return %*s", c.digits, step, c.width, returnText(c.rec.Return(step)))
	if c.rows == 1 {
		return []string{played + "  " + c.which}
	}
	return []string{played, c.which}
}

// height returns the height of a caption in pixels.
func (c captions) height() int { return draw.CaptionHeight(c.rows) }

// above returns a picture with the caption of a step above it.
func (c captions) above(picture image.Image, step int) *image.RGBA {
	return draw.Captioned(picture, c.text(step)...)
}
