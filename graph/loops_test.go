package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortLoops(t *testing.T) {
	loop := func(f func(x *Array) *Array) func(x *Array) *Array {
		return func(x *Array) *Array {
			e, _ := Scan(func(x *Array, _ None) (*Array, None) { return f(x), None{} }, x, None{}, Length(3))
			return e
		}
	}
	sin := func(x *Array) *Array { return Sin(x) }
	for i, c := range []struct {
		what string
		dims []int
		f    func(x *Array) *Array
		want float64
		most int // the largest array
	}{
		{"no loop", []int{100, 4}, sin, 0, 400},
		{"a short axis", []int{100, 4}, loop(sin), 1, 400},
		{"a long axis", []int{4, 100}, loop(sin), 0, 400},
		{"nothing but a few", []int{4, 4}, loop(sin), 0, 16},
		{"lanes first", []int{1000, 6}, VMap(loop(func(x *Array) *Array { return Add(x, CumSum(Sin(x), 0)) })), 1, 6000},
		{"a large product", []int{100, 4}, loop(func(x *Array) *Array {
			return Dot(Sin(Dot(x, Ones(ShapeOf(Float32, 4, 64)))), Ones(ShapeOf(Float32, 64, 4)))
		}), 0, 6400},
		{"loops in loops", []int{100, 4}, loop(loop(sin)), 1, 400},
	} {
		p, err := Trace(c.what, c.f, Abstract(ShapeOf(Float32, c.dims...)))
		require.NoError(t, err)
		require.InDelta(t, c.want, p.Graph.ShortLoops(), .01, "case %d: %s", i+1, c.what)
		require.Equal(t, c.most, p.Graph.LargestArray(), "case %d: %s", i+1, c.what)
	}
}
