package plots

import (
	"bytes"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pictures of any network: of layers that never spike, of potentials that are no numbers, of one neuron, of weights
// that are all zero. What is drawn depends on what was sent.
func TestSpikePictures(t *testing.T) {
	quiet := SpikingLayer{Name: "layer 1", Units: 2, Spikes: make([]float64, 8), Potentials: []float64{
		-65, -65, -64, -60, math.NaN(), -50, -65, math.Inf(1)}}
	loud := SpikingLayer{Name: "layer 2", Units: 1, Spikes: []float64{0, 1, 1, 0}, Potentials: []float64{
		-50, -50, -65, -65}}
	draw := func(l ...SpikingLayer) (raster, membranes []byte) {
		t.Helper()
		raster, err := Raster("title", l, 1)
		require.NoError(t, err)
		membranes, err = Membranes("title", l, 1)
		require.NoError(t, err)
		for _, b := range [][]byte{raster, membranes} {
			if b != nil {
				_, err := png.Decode(bytes.NewReader(b))
				require.NoError(t, err)
			}
		}
		return raster, membranes
	}
	one, two := draw(quiet, loud)
	loud.Spikes = []float64{0, 1, 0, 0}
	three, four := draw(quiet, loud)
	require.NotEqual(t, one, three)
	require.NotEqual(t, two, four)
	loud.Potentials = nil
	_, none := draw(loud)
	require.Nil(t, none)
	for _, v := range [][]float64{{0, 0, 0, 0}, {1, -2, math.NaN(), 4}} {
		b, err := Weights([]Matrix{{"a to b", 2, 2, v}, {"b to c", 2, 2, v}})
		require.NoError(t, err)
		_, err = png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
	}
	_, err := Weights(nil)
	require.ErrorContains(t, err, "there are no weights to draw")
}

func TestBusiest(t *testing.T) {
	require.Equal(t, []int{2, 0, 1}, busiest(SpikingLayer{Units: 4, Spikes: []float64{0, 0, 1, 0, 0, 0, 1, 0}}))
	require.Equal(t, []int{0}, busiest(SpikingLayer{Units: 1, Spikes: []float64{math.NaN()}}))
}
