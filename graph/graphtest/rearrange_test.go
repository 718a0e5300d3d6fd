package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/stats"
)

// What jax.numpy (0.10.2) gives for the same calls.
func TestFunctionsGiveNumPysValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := Float32s([]float32{3, 1, 2, 9, -4, 5}, 2, 3)
	v := func(values ...float32) *Array { return Float32s(values) }
	sorted, points := v(1, 2, 2, 3, 5), v(0, 1, 2, 2.5, 5, 9)
	for _, c := range []struct {
		name string
		got  *Array
		dims []int
		want []float64
	}{
		{"roll", Roll(x, 1, 1), []int{2, 3}, []float64{2, 3, 1, 5, 9, -4}},
		{"roll back", Roll(x, -4, 1), []int{2, 3}, []float64{1, 2, 3, -4, 5, 9}},
		{"roll around", Roll(x, 6, 1), []int{2, 3}, []float64{3, 1, 2, 9, -4, 5}},
		{"tile", Tile(x, 2), []int{2, 6}, []float64{3, 1, 2, 3, 1, 2, 9, -4, 5, 9, -4, 5}},
		{"tile more axes", Tile(v(1, 2), 2, 2), []int{2, 4}, []float64{1, 2, 1, 2, 1, 2, 1, 2}},
		{"tile none", Tile(v(1, 2), 0), []int{0}, []float64{}},
		{"repeat", Repeat(x, 2, 1), []int{2, 6}, []float64{3, 3, 1, 1, 2, 2, 9, 9, -4, -4, 5, 5}},
		{"outer", Outer(v(1, 2), v(3, 4, 5)), []int{2, 3}, []float64{3, 4, 5, 6, 8, 10}},
		{"diag", Diag(v(1, 2)), []int{2, 2}, []float64{1, 0, 0, 2}},
		{"diagonal", Diagonal(Float32s([]float32{1, 2, 3, 4}, 2, 2), 0, 1), []int{2}, []float64{1, 4}},
		{"diagonal of no numbers", Diagonal(Float32s([]float32{1, nan, inf, 4}, 2, 2), 0, 1), []int{2},
			[]float64{1, 4}},
		{"diff", Diff(x, 1), []int{2, 2}, []float64{-2, 1, -13, 9}},
		{"quantile", stats.Quantile(x, .3, 1), []int{2}, []float64{1.6, 1.4}},
		{"median of two", stats.Median(x, 0), []int{3}, []float64{6, -1.5, 3.5}},
		{"median of three", stats.Median(x, 1), []int{2}, []float64{2, 5}},
		{"median of no number", stats.Median(v(1, nan, 3), 0), []int{}, []float64{math.NaN()}},
		{"search", SearchSorted(sorted, points, false), []int{6}, []float64{0, 0, 1, 3, 4, 5}},
		{"search after", SearchSorted(sorted, points, true), []int{6}, []float64{0, 1, 3, 3, 5, 5}},
		{"search nothing", SearchSorted(v(), points, true), []int{6}, []float64{0, 0, 0, 0, 0, 0}},
		{"exp2", Exp2(v(-1, 3.5)), []int{2}, []float64{.5, 11.313708305}},
		{"log2", Log2(v(8, .1)), []int{2}, []float64{3, -3.321928024}},
		{"log10", Log10(v(1000, .5)), []int{2}, []float64{3, -.30103001}},
		{"trunc", Trunc(v(-1.5, 1.5, -.2)), []int{3}, []float64{-1, 1, 0}},
		{"is infinite", IsInf(v(1, inf, -inf, nan)), []int{4}, []float64{0, 1, 1, 0}},
		{"log add exp", LogAddExp(v(-inf, 1, 3, inf), v(-inf, 1, -90, inf)), []int{4}, []float64{
			math.Inf(-1), 1.6931471825, 3, math.Inf(1)}},
		{"power of a negative number", Pow(v(-2, 3), 3), []int{2}, []float64{-8, 27}},
		{"negative power", Pow(v(-2, 4), -2), []int{2}, []float64{.25, .0625}},
		{"power zero", Pow(v(0, nan), 0), []int{2}, []float64{1, 1}},
		{"top k takes not-a-number for largest", first(TopK(v(1, nan, 3), 2)), []int{2}, []float64{math.NaN(), 3}},
		{"take with narrow indices", Take(Convert(Iota(300), Float32), Of([]int8{-1, 7}), 0), []int{2}, []float64{
			299, 7}},
		{"scatter with narrow indices", SliceAxis(ScatterSet(Zeros(ShapeOf(Float32, 300)),
			Of([]uint8{255}), v(9),
			ClipIndex), 0, 254, 257), []int{3}, []float64{0, 9, 0}},
		{"subnormal half", Convert(Convert(v(6e-8, 1e-6, -3e-5), Float16), Float32), []int{3},
			[]float64{0x1p-24, 0x11p-24, -0x1f7p-24}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.dims, append([]int{}, c.got.Dims()...))
			got, err := Floats(c.got)
			require.NoError(t, err)
			require.Len(t, got, len(c.want))
			for i, w := range c.want {
				if math.IsNaN(w) || math.IsInf(w, 0) {
					require.Equal(t, math.Float64bits(w)>>51, math.Float64bits(got[i])>>51, "element %d: %v, want %v",
						i, got[i], w)
					continue
				}
				require.InDelta(t, w, got[i], 1e-6, "element %d", i)
			}
		})
	}
}

func first(a, _ *Array) *Array { return a }
