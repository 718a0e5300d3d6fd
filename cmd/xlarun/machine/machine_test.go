package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.EqualValues(t, 2, Median([]float64{3, 1, 2}))
	require.EqualValues(t, 2.5, Median([]float64{4, 1, 2, 3}))
	require.EqualValues(t, 7, Median([]float64{7}))
}
