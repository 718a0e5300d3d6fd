package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// 28.43: a footprint has the arguments, the results that replace none, and the values that exist together.
func TestFootprint(t *testing.T) {
	x := Abstract(ShapeOf(Float32, 32, 32))
	const kib = 4
	for i, c := range []struct {
		f                             func(x *Array) any
		donate                        []int
		arguments, results, temporary int64
	}{
		{func(x *Array) any { return x.Add(1).Mul(2) }, nil, kib, kib, 0},
		{func(x *Array) any { return x.Add(1).Mul(2) }, []int{0}, kib, 0, 0},
		{func(x *Array) any { return x.Dot(x).Dot(x).Sum() }, nil, kib, 0, 2 * kib},
		{func(x *Array) any { return x.Dot(x) }, []int{0}, kib, 0, kib},
		{func(x *Array) any { return x.Add(x.Transpose()) }, []int{0}, kib, 0, kib}, // a copy is read
		{func(x *Array) any { return x.Square().Add(1).Sum() }, nil, kib, 0, 0},
		{func(x *Array) any {
			type loop struct{ I, X *Array }
			return While(func(l loop) *Array { return l.I.Lt(x.Sum().Convert(Int32)) }, func(l loop) loop {
				return loop{l.I.Add(1), l.X.Dot(l.X)}
			}, loop{Zeros(ShapeOf(Int32)), x}).X
		}, nil, kib, kib, kib},
	} {
		p, err := TraceArgs("f", []any{x}, TraceOptions{Donate: c.donate}, func(a []any) any {
			return c.f(a[0].(*Array))
		})
		require.NoError(t, err)
		got, err := p.Footprint(TargetCPU)
		require.NoError(t, err)
		require.Equal(t, c.arguments, got.Arguments>>10, "case %d", i)
		require.Equal(t, c.results, got.Results>>10, "case %d", i)
		require.Equal(t, c.temporary, got.Temporaries>>10, "case %d", i)
		require.Equal(t, got.Arguments+got.Results+got.Temporaries, got.Total())
	}
}
