package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// The kernel that searches ascending lists agrees with a binary search, however the members lie and however many
// elements there are beside them: buckets of one, of some and of all members, and none.
func TestSearchSorted(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	c.target = graph.TargetCPUKernelsAlways
	draw := rand.New(rand.NewPCG(1, 2))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat32,
		-math.MaxFloat32, 1}
	kinds := []struct {
		name string
		at   func(i int) float64
	}{
		{"even", func(i int) float64 { return float64(i) - 20 }},
		{"normal", func(int) float64 { return 40 * draw.NormFloat64() }},
		{"equal", func(int) float64 { return 3 }},
		{"few values", func(int) float64 { return float64(draw.IntN(4) - 2) }},
		{"one far away", func(i int) float64 { return []float64{1e9, draw.Float64(), draw.Float64()}[min(i, 2)] }},
		{"padded, as numbers of genomes",
			func(i int) float64 { return []float64{float64(i), math.MaxInt32}[i%2] }},
		{"not finite", func(int) float64 { return special[draw.IntN(len(special))] }},
	}
	search := Jit(c, func(in [][]*graph.Array) (out [][]*graph.Array) {
		for _, s := range in {
			out = append(out, []*graph.Array{graph.SearchSorted(s[0], s[1], false),
				graph.SearchSorted(s[0], s[1], true)})
		}
		return out
	})
	for _, kind := range kinds {
		for _, dtype := range []graph.DType{graph.Float32, graph.Float64, graph.Int32} {
			if dtype == graph.Int32 && kind.name == "not finite" {
				continue
			}
			var all [][]*graph.Array
			for _, size := range []struct{ n, m int }{{1, 1}, {1, 40}, {65, 1000}, {1000, 30}, {300, 300}} {
				list, x := make([]float64, size.n), make([]float64, size.m)
				for i := range list {
					list[i] = kind.at(i)
				}
				for i := range x {
					if x[i] = kind.at(i); draw.IntN(2) == 0 && dtype != graph.Int32 {
						x[i] = special[draw.IntN(len(special))]
					}
				}
				array := func(v []float64) *graph.Array { return graph.Convert(graph.Of(v), dtype) }
				in, err := graph.Eval([]*graph.Array{graph.Sort(array(list), 0), array(x)})
				require.NoError(t, err, kind.name)
				all = append(all, in)
			}
			got, err := search(all)
			require.NoError(t, err, kind.name)
			for s, in := range all {
				list, x := floats(t, in[0]), floats(t, in[1])
				what := fmt.Sprintf("%s, %d in %d, %v", kind.name, len(x), len(list), dtype)
				nan := slices.DeleteFunc(slices.Clone(list), func(v float64) bool { return v == v })
				numbers := len(list) - len(nan)
				for after := range 2 {
					places := floats(t, got[s][after])
					for i, v := range x {
						want := sort.Search(numbers, func(k int) bool {
							return list[k] > v || after == 0 && list[k] == v
						})
						if math.IsNaN(v) {
							want = []int{numbers, len(list)}[after]
						}
						require.EqualValues(t, want, places[i], "%s: place of %v, after %d", what, v, after)
					}
				}
			}
		}
	}
}
