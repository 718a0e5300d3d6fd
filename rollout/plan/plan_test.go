package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanInWords(t *testing.T) {
	require.Equal(t, "1 device, tiles of 48, lanes first, unroll 1", Plan{Devices: 1, Tile: 48}.String())
	require.Equal(t, "8 devices, tiles of 128, lanes last, unroll 4, 512-bit vectors",
		Plan{Devices: 8, Tile: 128, LanesLast: true, Unroll: 4, VectorWidth: 512}.String())
	require.Empty(t, Plan{}.Compile().XLA)
	require.Equal(t, map[string]any{"xla_cpu_prefer_vector_width": 256}, Plan{VectorWidth: 256}.Compile().XLA)
}
