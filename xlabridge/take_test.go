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

// Gathers of single elements call the kernel and give what the interpreter gives: of indices outside, of NaN, of all
// widths of elements, of lanes with the same indices and with their own.
func TestTakeKernel(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	values := graph.Of([]float32{1, float32(math.NaN()), -3, float32(math.Inf(1)), 0, 7, -1})
	indices := graph.Rem(graph.Mul(graph.Iota(600), 7919), 17).Sub(5) // from -5 to 11
	lanes := graph.Stack([]*array{values, graph.Reverse(values, 0), graph.Neg(values)}, 0)
	own := graph.Reshape(indices, 3, 200)
	take := func(x, i *array) *array { return graph.Take(x, i, 0) }
	var calls []sample
	for _, s := range []struct {
		name       string
		f          func(x, i *array) *array
		x, indices *array
	}{
		{"a vector", take, values, indices},
		{"a vector of one element", take, graph.Of([]float32{5}), indices},
		{"one index", take, values, graph.Of([]int32{-2})},
		{"lanes with the same indices", graph.VMap2(take, graph.InAxes(0, graph.Unmapped)), lanes, indices},
		{"lanes with their own indices", graph.VMap2(take), lanes, own},
		{"one vector for all lanes", graph.VMap2(take, graph.InAxes(graph.Unmapped, 0)), values, own},
	} {
		for _, d := range []graph.DType{graph.Float32, graph.Float64, graph.BFloat16, graph.Int8, graph.Int64,
			graph.Uint32, graph.Bool, graph.Complex64} {
			x := graph.Convert(s.x, d)
			switch d {
			case graph.Float32, graph.Float64, graph.BFloat16:
			case graph.Complex64:
				x = graph.Complex(s.x, graph.Sub(3, s.x))
			default:
				x = graph.Convert(graph.Select(graph.IsFinite(s.x), graph.Abs(s.x), 2), d)
			}
			p, err := graph.Trace2("take", s.f, x, s.indices)
			require.NoError(t, err, s.name)
			l, err := lower.Lower(p, c.Target())
			require.NoError(t, err, s.name)
			require.Equal(t, 1, strings.Count(l.StableHLO, `"xlarun_take"`), s.name)
			calls = append(calls, sample{fmt.Sprintf("%s of %s", s.name, d),
				func(in []*array) []*array { return []*array{s.f(in[0], in[1])} }, []*array{x, s.indices}})
		}
	}
	for k, got := range together(t, c, calls) {
		have := parts(t, got[0])
		for i, want := range parts(t, calls[k].f(calls[k].in)[0]) {
			require.True(t, want == have[i] || math.IsNaN(want) && math.IsNaN(have[i]), "%s: element %d is %g, want %g",
				calls[k].name, i, have[i], want)
		}
	}
}

// A kernel's indices and results would go through memory, if they are large.
func TestTakeOfManyElements(t *testing.T) {
	take := func(x, i *array) *array { return graph.Take(x, i, 0) }
	for _, c := range []struct{ elements, kernels int }{{1<<13 - 1, 0}, {1 << 13, 1}, {1<<18 - 1, 1}, {1 << 18, 0}} {
		p, err := graph.Trace2("take", take, graph.Iota(1000), graph.Zeros(graph.ShapeOf(graph.Int32, c.elements)))
		require.NoError(t, err)
		l, err := lower.Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err)
		require.Equal(t, c.kernels, strings.Count(l.StableHLO, `"xlarun_take"`), "%d elements", c.elements)
	}
}

// parts are an array's numbers; of complex ones all real parts, then all imaginary ones.
func parts(t *testing.T, x *array) []float64 {
	if x.DType() != graph.Complex64 {
		return floats(t, x)
	}
	return append(floats(t, graph.Real(x)), floats(t, graph.Imag(x))...)
}

// Many complex numbers are taken by the kernel on a CPU as it is.
func TestTakeOfComplexNumbers(t *testing.T) {
	x := graph.Complex(graph.Of([]float32{1, -2, 3}), graph.Of([]float32{0, 7, -8}))
	indices := graph.Rem(graph.Iota(8192), 3)
	take := func(x, i *array) *array { return graph.Take(x, i, 0) }
	p, err := graph.Trace2("take", take, x, indices)
	require.NoError(t, err)
	l, err := lower.Lower(p, graph.TargetCPUKernels)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(l.StableHLO, `"xlarun_take"`))
	got, err := Jit2(open(t, Options{}), take)(x, indices)
	require.NoError(t, err)
	require.Equal(t, parts(t, take(x, indices)), parts(t, got))
}

// Few elements, and few elements of what a loop computes, are left to the compiler.
func TestTakesThatDoNotPay(t *testing.T) {
	takes := func(f func(x *array) *array, x *array) int {
		p, err := graph.Trace("take", f, x)
		require.NoError(t, err)
		l, err := lower.Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err)
		return strings.Count(l.StableHLO, `"xlarun_take"`)
	}
	some := func(n int) func(x *array) *array {
		return func(x *array) *array { return graph.Take(x, graph.Rem(graph.Iota(n), 90), 0) }
	}
	x := graph.Abstract(graph.ShapeOf(graph.Float32, 100))
	require.Equal(t, 0, takes(some(8191), x), "few elements")
	require.Equal(t, 1, takes(some(8192), x), "many elements")
	loop := func(work int) func(x *array) *array {
		return func(x *array) *array {
			end, _ := graph.Scan(func(x *array, _ graph.None) (*array, graph.None) {
				y := graph.Sum(graph.Sin(graph.Add(graph.Iota(work), graph.Index(x, 0))))
				return graph.Add(graph.Sum(graph.Reshape(some(10000)(x), 100, 100), 1), y), graph.None{}
			}, x, graph.None{}, graph.Length(100))
			return end
		}
	}
	require.Equal(t, 1, takes(loop(10), x), "a loop that gathers")
	require.Equal(t, 0, takes(loop(1_000_000), x), "a loop that does much else")
}
