package runfolder

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dot is a frame with a square at x on a plain ground.
func dot(x int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, 40, 30))
	draw.Draw(img, img.Rect, image.NewUniform(color.RGBA{250, 250, 240, 255}), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(x, 10, x+5, 15), image.NewUniform(color.RGBA{200, 30, 30, 255}), image.Point{}, draw.Src)
	return img
}

// animate encodes frames.
func animate(delay time.Duration, frames ...image.Image) ([]byte, error) {
	var a Animation
	for _, frame := range frames {
		if err := a.Add(frame, delay); err != nil {
			return nil, err
		}
	}
	return a.GIF()
}

func TestGIFShowsEveryFrame(t *testing.T) {
	frames := []image.Image{dot(0), dot(3), dot(3), dot(30)}
	b, err := animate(40*time.Millisecond, frames...)
	require.NoError(t, err)
	got, err := gif.DecodeAll(bytes.NewReader(b))
	require.NoError(t, err)
	require.Len(t, got.Image, len(frames))
	require.Equal(t, 4, got.Delay[0])
	screen := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for i, part := range got.Image {
		draw.Draw(screen, part.Rect, part, part.Rect.Min, draw.Over)
		require.Equal(t, frames[i].(*image.RGBA).Pix, screen.Pix, "frame %d", i)
	}
	require.Equal(t, image.Rect(0, 10, 8, 15), got.Image[1].Rect, "only what changed")
}

func TestGIFWithManyColors(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			img.SetRGBA(x, y, color.RGBA{uint8(4 * x), uint8(4 * y), 0, 255})
		}
	}
	b, err := animate(time.Second, img)
	require.NoError(t, err)
	got, err := gif.DecodeAll(bytes.NewReader(b))
	require.NoError(t, err)
	require.Len(t, got.Image[0].Palette, 256)
}

func TestGIFRefuses(t *testing.T) {
	_, err := animate(time.Second)
	require.ErrorContains(t, err, "no frames")
	_, err = animate(time.Second, dot(0), image.NewRGBA(image.Rect(0, 0, 1, 1)))
	require.ErrorContains(t, err, "differ in size")
}
