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

// The index of the largest and of the smallest element is found by two reductions, and equals the interpreter's.
func TestArgReduce(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	var calls []sample
	for _, s := range []struct {
		name       string
		dims       []int
		axis       int
		reductions int
	}{
		{"along the last axis", []int{300, 33}, 1, 2},
		{"along the first axis", []int{130, 70}, 0, 2},
		{"along a middle axis", []int{9, 32, 35}, 1, 2},
		{"all elements", []int{40000}, 0, 2},
		{"a short axis stays one reduction", []int{31, 300}, 0, 1},
		{"few elements stay one reduction", []int{40, 40}, 0, 1},
	} {
		n := graph.ShapeOf(graph.Int32, s.dims...).Size()
		x := graph.Reshape(graph.Sub(graph.Rem(graph.Mul(graph.Iota(n), 7919), 101), 50), s.dims...)
		at := graph.Reshape(graph.Iota(n), s.dims...)
		special := graph.Select(graph.Eq(graph.Rem(at, 5003), 7), math.NaN(), graph.Select(graph.Gt(x, 48), math.Inf(1),
			graph.Select(graph.Lt(x, -48), math.Inf(-1), graph.Convert(x, graph.Float32))))
		zeros := graph.Select(graph.Eq(graph.Rem(at, 3), 1), 0., math.Copysign(0, -1))
		same := graph.Select(graph.Lt(at, n/2), math.Inf(-1), math.NaN())
		inputs := []*array{x, special}
		if s.axis == 1 {
			inputs = append(inputs, graph.Convert(x, graph.Uint8), graph.Convert(special, graph.BFloat16), same,
				graph.Convert(special, graph.Float64), graph.Zeros(x.Shape()), zeros)
		}
		for _, x := range inputs {
			for _, f := range []func(*array, int) *array{graph.ArgMax, graph.ArgMin} {
				search := func(x *array) *array { return f(x, s.axis) }
				p, err := graph.Trace(s.name, search, x)
				require.NoError(t, err, s.name)
				l, err := lower.Lower(p, c.Target())
				require.NoError(t, err, s.name)
				require.Equal(t, s.reductions, strings.Count(l.StableHLO, `stablehlo.reduce"`), s.name)
				calls = append(calls, sample{fmt.Sprintf("%s of %s", s.name, x.DType()),
					func(in []*array) []*array { return []*array{search(in[0])} }, []*array{x}})
			}
		}
	}
	for k, got := range together(t, c, calls) {
		require.Equal(t, parts(t, calls[k].f(calls[k].in)[0]), parts(t, got[0]), calls[k].name)
	}
}

// The elements are rounded alike in both reductions: the place that is found is in range.
func TestArgReduceOfInexact(t *testing.T) {
	c := open(t, Options{})
	f := func(x *array) *array {
		y := graph.Add(graph.Mul(x, graph.ExpandDims(graph.Sin(graph.Sum(x, 0)), 0)), graph.Exp(x))
		return graph.Div(graph.Convert(graph.ArgMax(y, 1), graph.Float32), 1)
	}
	x := graph.Sin(graph.Convert(graph.Reshape(graph.Iota(64*256), 64, 256), graph.Float32))
	got, err := Jit1(c, f)(x)
	require.NoError(t, err)
	want := parts(t, f(x))
	for i, v := range parts(t, got) {
		require.Equal(t, want[i], v)
		require.Less(t, v, 256.)
	}
}
