package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// The kernel for the largest elements agrees with a stable sort, for any order of the elements and any equal elements.
// The sizes go from one row of one element to more elements than the kernel holds as candidates.
func TestTopK(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	draw := rand.New(rand.NewPCG(1, 2))
	c.target = graph.TargetCPUKernelsAlways
	kinds := []struct {
		name string
		at   func(i, n int) float64
	}{
		{"normal", func(int, int) float64 { return draw.NormFloat64() }},
		{"rising", func(i, n int) float64 { return float64(i - n/2) }},
		{"falling", func(i, n int) float64 { return float64(n/2 - i) }},
		{"equal", func(int, int) float64 { return 3 }},
		{"few values", func(int, int) float64 { return float64(draw.IntN(4) - 2) }},
		{"not finite", func(int, int) float64 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-40, -1e-40,
				math.MaxFloat32, -math.MaxFloat32}[draw.IntN(9)]
		}},
	}
	sizes := []struct{ rows, n, k int }{{1, 1, 1}, {1, 512, 1}, {3, 700, 700}, {2, 4096, 11}, {5, 129, 64},
		{4, 1000, 999}, {1, 70_000, 3000}, {600, 2, 1}, {100, 65, 33}}
	largest := Jit(c, func(in []*graph.Array) (out [][]*graph.Array) {
		for i, x := range in {
			v, at := graph.TopK(x, sizes[i].k)
			out = append(out, []*graph.Array{v, at})
		}
		return out
	})
	for _, kind := range kinds {
		for _, whole := range []bool{false, true} {
			if whole && kind.name == "not finite" {
				continue
			}
			var in []*graph.Array
			for _, size := range sizes {
				v := make([]float32, size.rows*size.n)
				for i := range v {
					v[i] = float32(kind.at(i%size.n, size.n))
				}
				x := graph.Float32s(v, size.rows, size.n)
				if whole {
					x = graph.Convert(graph.Mul(x, 1000), graph.Int32)
				}
				in = append(in, x)
			}
			out, err := largest(in)
			require.NoError(t, err, kind.name)
			for s, size := range sizes {
				what := fmt.Sprintf("%s, %d rows of %d, largest %d, whole numbers %v", kind.name, size.rows, size.n,
					size.k, whole)
				values, indices, given := floats(t, out[s][0]), floats(t, out[s][1]), floats(t, in[s])
				for row := range size.rows {
					from := given[row*size.n : (row+1)*size.n]
					order := make([]int, size.n)
					for i := range order {
						order[i] = i
					}
					slices.SortStableFunc(order, func(p, q int) int {
						a, b := from[p], from[q]
						switch {
						case a > b || math.IsNaN(a) && !math.IsNaN(b):
							return -1
						case a < b || math.IsNaN(b) && !math.IsNaN(a):
							return 1
						}
						return 0
					})
					for i, at := range order[:size.k] {
						require.EqualValues(t, at, indices[row*size.k+i], "%s: index %d of row %d", what, i, row)
						got := values[row*size.k+i]
						require.True(t, got == from[at] && (got != 0 || !math.Signbit(got)) || math.IsNaN(got) &&
							math.IsNaN(from[at]), "%s: %v for %v", what, got, from[at])
					}
				}
			}
		}
	}
}
