package generation

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	nan := math.NaN()
	m := Summarize([]float64{1, 2, nan, 6}, []float64{1, 2, 3, 6}, []float64{0, 0, 2, 0})
	require.Equal(t, Summary{Best: 6, Mean: 3, Worst: 1, Std: math.Sqrt(14. / 3), Length: 3, Failed: 1, Members: 4,
		FirstFailed: 2, FailedStep: 2},
		m)
	m = Summarize([]float64{nan, nan}, []float64{1, 3}, []float64{0, 3})
	require.Equal(t, Summary{Best: math.Inf(-1), Mean: math.Inf(-1), Worst: math.Inf(-1), Length: 2, Failed: 2,
		Members: 2},
		m)
}
