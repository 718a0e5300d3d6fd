package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/kernels"
)

// Counters count the iterations of a loop, each for the program that has it as an input, and pass values on. Loops that
// are one function count, and loops with a kernel. A counter that was given back begins with 0 again; beyond those that
// the process has, counters stay 0.
func TestCounters(t *testing.T) {
	c := open(t, Options{})
	type inputs struct{ Trips, Counter *graph.Array }
	trips := func(name string, step func(x *graph.Array) *graph.Array) func(inputs) (*graph.Array, error) {
		return Jit(c, func(in inputs) *graph.Array {
			end := graph.While(func(s [2]*graph.Array) *graph.Array {
				return s[0].Lt(in.Trips)
			}, func(s [2]*graph.Array) [2]*graph.Array {
				i := graph.Counted(in.Counter, s[0])
				return [2]*graph.Array{s[0].Add(1), step(s[1]).Add(i.Convert(graph.Float32))}
			}, [2]*graph.Array{graph.Of(int32(0)), graph.Zeros(graph.ShapeOf(graph.Float32, 3))})
			return end[1]
		}, JitOptions{Name: name})
	}
	keep := func(x *graph.Array) *graph.Array { return x }
	reverse := &graph.Kernel{Target: "xlarun_reverse", Eval: func(in, out []*graph.Tensor) {}}
	var all []*Counter
	for name, run := range map[string]func(inputs) (*graph.Array, error){
		"a function": trips("function", keep),
		"a kernel": trips("kernel", func(x *graph.Array) *graph.Array {
			return graph.CustomCall(reverse, []graph.Shape{x.Shape()}, x)[0]
		}),
	} {
		first, second := NewCounter(), NewCounter()
		all = append(all, first, second)
		for i, n := range []int32{0, 1, 5} {
			got, err := run(inputs{graph.Of(n), first.Input()})
			require.NoError(t, err)
			v := floats(t, got)
			sum := float64(n * (n - 1) / 2)
			require.Equal(t, []float64{sum, sum, sum}, v, name)
			require.EqualValues(t, []int{0, 1, 6}[i], first.Value(), name)
		}
		require.Zero(t, second.Value(), name)
	}
	run := trips("again", keep)
	all[0].Close()
	all[0].Close() // a second one does nothing
	again, other := NewCounter(), NewCounter()
	require.NotEqual(t, again.number, other.number)
	require.Zero(t, again.Value())
	all = append(all[1:], again, other)
	for range kernels.Counters {
		all = append(all, NewCounter())
	}
	beyond := all[len(all)-1]
	_, err := run(inputs{graph.Of(int32(3)), beyond.Input()})
	require.NoError(t, err)
	require.Zero(t, beyond.Value())
	for _, c := range all {
		c.Close()
	}
	last := NewCounter()
	defer last.Close()
	_, err = run(inputs{graph.Of(int32(3)), last.Input()})
	require.NoError(t, err)
	require.EqualValues(t, 3, last.Value())
}
