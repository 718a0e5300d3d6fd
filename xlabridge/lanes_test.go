package xlabridge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
)

// Lanes that share their indices are scattered and gathered eight at a time, and give what the interpreter gives: for
// numbers of lanes and of updates that are no multiples of eight, for indices outside, NaN, infinities and both zeros.
func TestLanesOfOneIndex(t *testing.T) {
	c := always(open(t, Options{}))
	const updates, places = 203, 21
	indices := graph.Rem(graph.Mul(graph.Iota(updates), 7919), places+4).Sub(2) // from -2 to places+1
	special := graph.Of([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1)), -2, 3})
	scatters := []struct {
		name string
		f    func(x, i, u *array, mode ...graph.IndexMode) *array
	}{
		{"set", graph.ScatterSet},
		{"sum", graph.ScatterAdd},
		{"product", graph.ScatterMul},
		{"maximum", graph.ScatterMax},
		{"minimum", graph.ScatterMin},
	}
	for _, lanes := range []int{7, 8, 19} {
		var calls []sample
		number := func(n, seed int) *array { // in each lane others
			return graph.Reshape(graph.Rem(graph.Mul(graph.Iota(lanes*n), seed), 97), lanes, n).Sub(40)
		}
		for _, d := range []graph.DType{graph.Float32, graph.Int32, graph.Uint32, graph.Float64, graph.Int16} {
			x, u := graph.Convert(number(places, 31), d), graph.Convert(number(updates, 57), d)
			if d == graph.Float32 {
				u = graph.Select(graph.Lt(number(updates, 13), -20), graph.Take(special, number(updates, 11), 0,
					graph.WrapIndex), u)
			}
			add := func(name string, f func(in []*array) []*array, in ...*array) {
				calls = append(calls, sample{fmt.Sprintf("%s, %d lanes of %s", name, lanes, d), f, in})
			}
			for _, s := range scatters {
				scatter := func(x, i, u *array) *array { return s.f(x, i, u) }
				f := graph.VMap3(scatter, graph.InAxes(0, graph.Unmapped, 0))
				p, err := graph.Trace2("scatter", func(x, u *array) *array { return f(x, indices, u) }, x, u)
				require.NoError(t, err, s.name)
				l, err := lower.Lower(p, c.Target())
				require.NoError(t, err, s.name)
				require.Equal(t, 1, strings.Count(l.StableHLO, `"xlarun_scatter"`), s.name)
				add(s.name, func(in []*array) []*array { return []*array{f(in[0], in[1], in[2])} }, x, indices, u)
			}
			take := graph.VMap2(func(x, i *array) *array { return graph.Take(x, i, 0) }, graph.InAxes(0,
				graph.Unmapped))
			takes := func(in []*array) []*array { return []*array{take(in[0], in[1])} }
			add("take from more places than there are indices", takes, u, indices)
			add("take", takes, x, indices)
		}
		for k, got := range together(t, c, calls) {
			have := parts(t, got[0])
			for i, w := range parts(t, calls[k].f(calls[k].in)[0]) {
				require.True(t, w == have[i] && math.Signbit(w) == math.Signbit(have[i]) ||
					math.IsNaN(w) && math.IsNaN(have[i]), "%s: element %d is %g, want %g", calls[k].name, i, have[i], w)
			}
		}
	}
}
