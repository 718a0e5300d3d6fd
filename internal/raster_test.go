package internal_test

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/raster"
)

func square(low, high float64) []raster.Point {
	return []raster.Point{{X: low, Y: low}, {X: high, Y: low}, {X: high, Y: high}, {X: low, Y: high}}
}

// Contours overlap by the nonzero rule. What lies outside of the image is left out.
func TestFill(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 10, 10))
	hole := square(4, 6)
	hole[1], hole[3] = hole[3], hole[1]
	red := color.RGBA{255, 0, 0, 255}
	raster.Fill(img, red, square(2, 8), square(3, 7), hole, square(20, 30))
	raster.Fill(img, red, []raster.Point{{X: -1e300, Y: -9}, {X: math.Inf(1), Y: -9}, {X: 0, Y: -2}})
	raster.Fill[raster.Point](img, red)
	for y := range 10 {
		for x := range 10 {
			want := color.RGBA{}
			if x >= 2 && x < 8 && y >= 2 && y < 8 {
				want = red
			}
			require.Equal(t, want, img.RGBAAt(x, y), "%d %d", x, y)
		}
	}
	raster.Fill(img, color.White, hole)
	require.Equal(t, color.RGBA{255, 255, 255, 255}, img.RGBAAt(5, 5))
	require.Equal(t, red, img.RGBAAt(3, 5))
}
