package raster

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func square(low, high float64) []Point {
	return []Point{{low, low}, {high, low}, {high, high}, {low, high}}
}

// Contours overlap by the nonzero rule. What lies outside of the image is left out.
func TestFill(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 10, 10))
	hole := square(4, 6)
	hole[1], hole[3] = hole[3], hole[1]
	red := color.RGBA{255, 0, 0, 255}
	Fill(img, red, square(2, 8), square(3, 7), hole, square(20, 30))
	Fill(img, red, []Point{{-1e300, -9}, {math.Inf(1), -9}, {0, -2}})
	Fill[Point](img, red)
	for y := range 10 {
		for x := range 10 {
			want := color.RGBA{}
			if x >= 2 && x < 8 && y >= 2 && y < 8 {
				want = red
			}
			require.Equal(t, want, img.RGBAAt(x, y), "%d %d", x, y)
		}
	}
	Fill(img, color.White, hole)
	require.Equal(t, color.RGBA{255, 255, 255, 255}, img.RGBAAt(5, 5))
	require.Equal(t, red, img.RGBAAt(3, 5))
}
