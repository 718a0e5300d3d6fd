package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/machine"
)

// What profile calls the time of a round.
func TestMedian(t *testing.T) {
	require.EqualValues(t, 2, machine.Median([]float64{3, 1, 2}))
	require.EqualValues(t, 2.5, machine.Median([]float64{4, 1, 2, 3}))
	require.EqualValues(t, 7, machine.Median([]float64{7}))
}
