package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSparsePeer(t *testing.T) {
	got, err := parseSparsePeer("conns 14359 threads 2\nAoS: 1000.0 steps/s\nlane: 3000.0 steps/s\nAoS: 1024.0 steps/s\n")
	require.NoError(t, err)
	require.InDelta(t, .5, got, 1e-12)
	_, err = parseSparsePeer("killed\n")
	require.ErrorContains(t, err, "holds no speed")
}
