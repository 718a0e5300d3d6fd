package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Computed blocks are moved into the array: a negative start is 0.
func TestDynamicBlocksAreMovedInside(t *testing.T) {
	x := Convert(Iota(5), Float32)
	at := func(i int) []*Array { return []*Array{Scalar(i, Int32)} }
	nine := Float32s([]float32{9, 9})
	require.Equal(t, []float64{0, 1}, floatsOf(t, DynamicSlice(x, at(-2), []int{2})))
	require.Equal(t, []float64{3, 4}, floatsOf(t, DynamicSlice(x, at(4), []int{2})))
	require.Equal(t, []float64{0}, floatsOf(t, DynamicIndex(x, Scalar(-1, Int32), 0)))
	require.Equal(t, []float64{9, 9, 2, 3, 4}, floatsOf(t, DynamicUpdateSlice(x, nine, at(-2))))
	require.Equal(t, []float64{0, 1, 2, 9, 9}, floatsOf(t, DynamicUpdateSlice(x, nine, at(7))))
	first := DynamicUpdateIndex(x, Scalar(float32(9)), Scalar(-3, Int32), 0)
	require.Equal(t, []float64{9, 1, 2, 3, 4}, floatsOf(t, first))
}
