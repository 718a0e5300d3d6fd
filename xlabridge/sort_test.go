package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/internal/long"
)

// The kernel orders lines of every length, along any axis, as the interpreter does: by insertion, by narrow and by wide
// digits; few values stand for many ties. The short form has the sizes at which the ways change.
func TestSortKernel(t *testing.T) {
	t.Parallel()
	client := open(t, Options{})
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), -math.NaN(), math.MaxFloat32,
		-math.MaxFloat32, 1, -1}
	r := rand.New(rand.NewPCG(4, 2))
	sizes := []int{1, 32, 33, 2048}
	if long.On() {
		sizes = append(sizes, 2, 31, 200, 2047, 5000)
	}
	for _, n := range sizes {
		var calls []sample
		for k, d := range []graph.DType{graph.Float32, graph.Int32, graph.Uint32} {
			for _, values := range []int{3, 1 << 30} {
				for _, axis := range []int{0, 1} {
					dims := []int{3, n}
					if axis == 0 {
						dims = []int{n, 3}
					}
					numbers := make([]float32, 3*n)
					for i := range numbers {
						numbers[i] = float32(r.IntN(values)) - float32(values/2*(k%2))
						if k == 0 {
							numbers[i] = float32((r.Float64() - .5) * float64(values))
							if r.IntN(4) == 0 {
								numbers[i] = float32(odd[r.IntN(len(odd))])
							}
						}
					}
					x, err := graph.Eval(graph.Convert(graph.Reshape(graph.Float32s(numbers), dims...), d))
					require.NoError(t, err)
					f := func(in []*graph.Array) []*graph.Array {
						x := in[0]
						places := graph.IotaAxis(graph.ShapeOf(graph.Int32, dims...), axis)
						all := graph.SortKV([]*graph.Array{x, places, graph.Convert(places, graph.Float32)}, axis, 1)
						if values == 3 && axis == 1 { // several keys, of whole numbers and floats
							groups := graph.Rem(graph.Mul(places, 7), 5)
							two := graph.SortKV([]*graph.Array{groups, x, places}, axis, 2)
							all = append(all, two...)
							three := graph.SortKV([]*graph.Array{x, groups, graph.Neg(places), places}, axis, 3)
							all = append(all, three...)
						}
						return append(all, graph.ArgSort(x, axis, graph.Descending()))
					}
					calls = append(calls, sample{fmt.Sprintf("%d of %v along %d", n, d, axis), f, []*array{x}})
				}
			}
		}
		want, got := together(t, &Reference{}, calls), together(t, client, calls)
		for c := range calls {
			for i := range want[c] {
				a := graphtest.Floats(t, want[c][i])
				b := graphtest.Floats(t, got[c][i])
				require.Equal(t, fmt.Sprint(a), fmt.Sprint(b), "%s, result %d", calls[c].name, i)
			}
		}
	}
}
