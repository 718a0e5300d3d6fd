package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The table had no time of the slow runs.
func TestP99(t *testing.T) {
	require.Zero(t, p99(nil))
	require.Zero(t, p99(make([]float64, 99)), "too few")
	seconds := make([]float64, 200)
	for i := range seconds {
		seconds[i] = float64(200 - i)
	}
	require.Equal(t, 198., p99(seconds))
	require.Equal(t, 200., seconds[0], "the order stays")
}
