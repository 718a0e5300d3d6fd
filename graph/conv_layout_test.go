package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Strides, padding and dilation follow the spatial letters of the kernel, as in jax.lax.conv_general_dilated.
func TestConvLayoutOrder(t *testing.T) {
	x := Convert(Reshape(Iota(2*7*9*3), 2, 7, 9, 3), Float32)
	kernel := Convert(Reshape(Iota(2*3*3*4), 2, 3, 3, 4), Float32)
	options := func(first, second int) []WindowOption {
		pads := [][2]int{{first, first - 1}, {second, second - 1}}
		return []WindowOption{Strides(first, second), Padding(pads...), WindowDilation(second, first)}
	}
	want := Conv(x, kernel, options(2, 1)...)
	got := Conv(Transpose(x, 3, 2, 0, 1), Transpose(kernel, 1, 0, 2, 3), append(options(1, 2),
		Layout("CWNH", "WHIO", "NWHC"))...)
	require.Equal(t, floatsOf(t, want), floatsOf(t, Transpose(got, 0, 2, 1, 3)))
}
