package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A footprint has the arguments, the results that replace none, and the values that exist together.
func TestFootprint(t *testing.T) {
	x := graph.Abstract(graph.ShapeOf(graph.Float32, 32, 32))
	const kib = 4
	for i, c := range []struct {
		f                             func(x *graph.Array) any
		donate                        []int
		arguments, results, temporary int64
	}{
		{func(x *graph.Array) any { return x.Add(1).Mul(2) }, nil, kib, kib, 0},
		{func(x *graph.Array) any { return x.Add(1).Mul(2) }, []int{0}, kib, 0, 0},
		{func(x *graph.Array) any { return x.Dot(x).Dot(x).Sum() }, nil, kib, 0, 2 * kib},
		{func(x *graph.Array) any { return x.Dot(x) }, []int{0}, kib, 0, kib},
		{func(x *graph.Array) any { return x.Add(x.Transpose()) }, []int{0}, kib, 0, kib}, // a copy is read
		{func(x *graph.Array) any { return x.Square().Add(1).Sum() }, nil, kib, 0, 0},
		{func(x *graph.Array) any {
			type loop struct{ I, X *graph.Array }
			return graph.While(func(l loop) *graph.Array { return l.I.Lt(x.Sum().Convert(graph.Int32)) },
				func(l loop) loop {
					return loop{l.I.Add(1), l.X.Dot(l.X)}
				}, loop{graph.Scalar(0, graph.Int32), x}).X
		}, nil, kib, kib, kib},
	} {
		p, err := graph.TraceArgs("f", []any{x}, graph.TraceOptions{Donate: c.donate}, func(a []any) any {
			return c.f(a[0].(*graph.Array))
		})
		require.NoError(t, err)
		got, err := Memory(p, graph.TargetCPU)
		require.NoError(t, err)
		require.Equal(t, c.arguments, got.Arguments>>10, "case %d", i)
		require.Equal(t, c.results, got.Results>>10, "case %d", i)
		require.Equal(t, c.temporary, got.Temporaries>>10, "case %d", i)
		require.Equal(t, got.Arguments+got.Results+got.Temporaries, got.Total())
	}
}

// A chain of 40 squares that are fused has 2^40 ways to its input, which is read once.
func TestFootprintOfSquares(t *testing.T) {
	p, err := graph.TraceArgs("f", []any{graph.Abstract(graph.ShapeOf(graph.Float32, 32, 32))}, graph.TraceOptions{},
		func(a []any) any {
			x := a[0].(*graph.Array)
			for range 40 {
				x = x.Mul(x)
			}
			return x
		})
	require.NoError(t, err)
	got, err := Memory(p, graph.TargetCPU)
	require.NoError(t, err)
	require.Equal(t, Footprint{Arguments: 4096, Results: 4096}, got)
}

// Two results that are one value go in the places of two arguments. Only the first of them is read where the
// result is written, and needs a copy.
func TestFootprintOfOneValueTwice(t *testing.T) {
	x := graph.Abstract(graph.ShapeOf(graph.Float32, 32, 32))
	for range 20 { // it does not depend on the order of a map
		p, err := graph.TraceArgs("f", []any{x, x}, graph.TraceOptions{Donate: []int{0, 1}}, func(a []any) any {
			y := a[0].(*graph.Array)
			y = y.Dot(y)
			return []any{y, y}
		})
		require.NoError(t, err)
		require.Len(t, p.Donated, 2)
		got, err := Memory(p, graph.TargetCPU)
		require.NoError(t, err)
		require.Equal(t, Footprint{Arguments: 8192, Temporaries: 4096}, got)
	}
}

// A CPU computes an array of int32 before it sums it, and an accelerator computes each element where it sums
// it.
func TestFootprintOfReductions(t *testing.T) {
	for _, d := range []graph.DType{graph.Float32, graph.Int32} {
		p, err := graph.TraceArgs("f", []any{graph.Abstract(graph.ShapeOf(d, 32, 32))}, graph.TraceOptions{},
			func(a []any) any {
				return a[0].(*graph.Array).Mul(3).Add(1).Sum()
			})
		require.NoError(t, err)
		for target, want := range map[graph.Target]int64{graph.TargetCPU: int64(d.Size()) * 1024, graph.TargetCUDA: 0} {
			if d == graph.Float32 {
				want = 0
			}
			got, err := Memory(p, target)
			require.NoError(t, err)
			require.Equal(t, want, got.Temporaries, "%s, %s", d, target)
		}
	}
}
