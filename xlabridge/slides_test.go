package xlabridge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
)

// The largest and the smallest elements and the sums of windows are combined of shifted arrays, and equal the
// interpreter's: sums of whole numbers, which are exact in any order.
func TestSlidingWindows(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	x := graph.Sub(graph.Rem(graph.Mul(graph.Iota(7*23), 7919), 101), 50)
	odd := graph.Reshape(x, 7, 23)
	special := graph.Select(graph.Eq(graph.Rem(odd, 13), 0), math.NaN(), graph.Select(graph.Gt(odd, 45), math.Inf(1),
		graph.Select(graph.Lt(odd, -45), math.Inf(-1), graph.Convert(odd, graph.Float32))))
	var calls []sample
	for _, s := range []struct {
		name    string
		x       *array
		window  []int
		options []graph.WindowOption
		windows int // reduce_window in the lowered program
	}{
		{"rows and columns", odd, []int{3, 5}, []graph.WindowOption{graph.SamePadding()}, 0},
		{"NaN and infinities", special, []int{3, 5}, []graph.WindowOption{graph.SamePadding()}, 0},
		{"a long window", odd, []int{1, 17}, nil, 0},
		{"a window with holes", special, []int{2, 6}, []graph.WindowOption{graph.WindowDilation(2, 3)}, 0},
		{"negative padding", odd, []int{2, 2}, []graph.WindowOption{graph.Padding([2]int{-1, 1}, [2]int{2, -3})},
			0},
		{"all of an axis", odd, []int{7, 1}, nil, 0},
		{"no result", odd, []int{8, 1}, nil, 1},
		{"windows that do not slide by one", odd, []int{3, 3}, []graph.WindowOption{graph.Strides(1, 2)}, 1},
	} {
		for _, d := range []graph.DType{graph.Float32, graph.Float64, graph.BFloat16, graph.Int8, graph.Int64} {
			for _, kind := range []string{"max", "min", "sum"} {
				x := s.x
				windows := s.windows
				if kind == "sum" && d == graph.BFloat16 {
					windows = 1
				}
				if (d == graph.Float64 || d == graph.Int64) && !long.On() {
					continue
				}
				if x == special && d != graph.Float32 && d != graph.Float64 && d != graph.BFloat16 {
					continue
				}
				x = graph.Convert(x, d)
				f := func(in []*array) []*array {
					return []*array{graph.ReduceWindow(in[0], kind, s.window, s.options...)}
				}
				l := lowered(t, c.Target(), f, []*array{x})
				require.Equal(t, windows, strings.Count(l.StableHLO, "stablehlo.reduce_window"), s.name)
				calls = append(calls, sample{fmt.Sprintf("%s of %s, %s", s.name, d, kind), f, []*array{x}})
			}
		}
	}
	for k, got := range together(t, c, calls) {
		have, want := parts(t, got[0]), parts(t, calls[k].f(calls[k].in)[0])
		require.Len(t, have, len(want))
		for i, w := range want {
			same := w == have[i] || math.IsNaN(w) && math.IsNaN(have[i])
			require.True(t, same, "%s: element %d is %g, want %g", calls[k].name, i, have[i], w)
		}
	}
}

// A select is not written over a rolled array, and the program gives what the interpreter gives.
func TestSelectsOverRolledArrays(t *testing.T) {
	c := always(open(t, Options{}))
	var calls []sample
	for _, dims := range [][]int{{32, 64}, {33, 65}, {1, 2048}, {2048}} {
		for _, d := range []graph.DType{graph.Float32, graph.Int32} {
			numbers := graph.Reshape(graph.Iota(graph.ShapeOf(d, dims...).Size()), dims...)
			x := graph.Convert(graph.Rem(graph.Mul(numbers, 7919), 101), d)
			f := func(x *array) *array {
				even := graph.Eq(graph.Rem(x, 2), 0)
				last := len(dims) - 1
				around := graph.Add(graph.Roll(x, 1, last), graph.Roll(x, -1, last))
				return graph.Select(graph.And(even, graph.Gt(around, 100)), graph.Neg(x), around)
			}
			l := lowered(t, c.Target(), f, x)
			require.Equal(t, 2, strings.Count(l.StableHLO, "stablehlo.concatenate"))
			for _, line := range strings.Split(l.StableHLO, "\n") {
				if strings.Contains(line, "stablehlo.concatenate") {
					require.Regexp(t, `-> \(tensor<1x`, line)
				}
			}
			calls = append(calls, sample{fmt.Sprint(d, dims), func(in []*array) []*array { return []*array{f(in[0])} },
				[]*array{x}})
		}
	}
	for k, got := range together(t, c, calls) {
		require.Equal(t, parts(t, calls[k].f(calls[k].in)[0]), parts(t, got[0]), calls[k].name)
	}
}
