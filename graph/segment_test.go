package graph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Segment functions against a loop: NaN, infinities, empty segments, rows out of range, no rows, no segments.
func TestSegments(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	x := Float32s([]float32{1, float32(nan), 3, float32(inf), -5, 6, 7, 8})
	for i, c := range []struct {
		name string
		f    func(x, ids *Array, segments int) *Array
		want []float64
	}{
		{"sum", SegmentSum, []float64{4, nan, inf, 0}},
		{"max", SegmentMax, []float64{3, nan, inf, -inf}},
		{"min", SegmentMin, []float64{1, nan, 6, inf}},
		{"prod", SegmentProd, []float64{3, nan, inf, 1}},
	} {
		got := floatsOf(t, c.f(x, Int32s([]int32{0, 1, 0, 2, -1, 2, 9, 4}), 4))
		for k := range c.want {
			require.True(t, c.want[k] == got[k] || math.IsNaN(c.want[k]) && math.IsNaN(got[k]),
				"%d %s: segment %d is %v, want %v", i+1, c.name, k, got[k], c.want[k])
		}
		require.Equal(t, []int{0, 2}, c.f(Zeros(ShapeOf(Float32, 3, 2)), Iota(3), 0).Dims(), "%d %s: no segments", i+1,
			c.name)
		require.Equal(t, []int{2}, c.f(Zeros(ShapeOf(Float32, 0)), Iota(0), 2).Dims(), "%d %s: no rows", i+1, c.name)
	}
	counts := floatsOf(t, SegmentSum(Of([]bool{true, true, false, true}), Int32s([]int32{0, 0, 0, 1}), 2))
	require.Equal(t, []float64{2, 1}, counts)
	any := floatsOf(t, SegmentMax(Of([]bool{false, true, false}), Int32s([]int32{0, 0, 1}), 3))
	require.Equal(t, []float64{1, 0, 0}, any)
}

// The derivative of a product with zeros in it is the product of the other rows, and so is the derivative of that.
func TestSegmentProdOfZeros(t *testing.T) {
	ids := Int32s([]int32{0, 1, 0, 0, 1})
	f := func(x *Array) *Array { return Sum(SegmentProd(x, ids, 2)) }
	x := Float32s([]float32{0, 3, 2, 5, 0})
	got := floatsOf(t, Grad(f)(x))
	require.Equal(t, []float64{10, 0, 0, 0, 3}, got)
	second := floatsOf(t, Hessian(f)(Float32s([]float32{0, 3, 0, 5, 0})))
	require.Equal(t, []float64{
		0, 0, 5, 0, 0,
		0, 0, 0, 0, 1,
		5, 0, 0, 0, 0,
		0, 0, 0, 0, 0,
		0, 1, 0, 0, 0}, second)
}

func TestSegmentRefusals(t *testing.T) {
	x := Zeros(ShapeOf(Float32, 3, 2))
	for i, c := range []struct {
		want string
		call func() *Array
	}{
		{"got -1 segments, want at least 0", func() *Array { return SegmentSum(x, Iota(3), -1) }},
		{"got rows f32[3,2] and segment numbers i32[2]", func() *Array { return SegmentMax(x, Iota(2), 2) }},
		{"segment numbers f32[3], want integers", func() *Array {
			return SegmentMin(x, Zeros(ShapeOf(Float32, 3)), 2)
		}},
		{"want numbers: SegmentMin tells whether", func() *Array { return SegmentProd(Of([]bool{true}), Iota(1), 2) }},
	} {
		require.ErrorContains(t, Try(func() { c.call() }), c.want, i+1)
	}
}
