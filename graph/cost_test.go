package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func tracedCost(t *testing.T, f func(x *Array) *Array, s Shape, trips func(*Node) int) Cost {
	t.Helper()
	p, err := Trace("f", f, Abstract(s))
	require.NoError(t, err)
	return p.Graph.Cost(trips)
}

func TestCost(t *testing.T) {
	s := ShapeOf(Float32, 4, 4)
	mul := func(x *Array) *Array { return Mul(x, x) }
	for _, c := range []struct {
		name string
		f    func(x *Array) *Array
		want Cost
	}{
		{"product", mul, Cost{FLOPs: 16, Bytes: 3 * 64}},
		{"exponential", func(x *Array) *Array { return Exp(x) }, Cost{FLOPs: 16, Transcendentals: 16, Bytes: 2 * 64}},
		{"dot", func(x *Array) *Array { return Dot(x, x) }, Cost{FLOPs: 2 * 64, Bytes: 3 * 64}},
		{"reshape is free", func(x *Array) *Array { return Reshape(x, 16) }, Cost{}},
		{"transpose moves", func(x *Array) *Array { return Transpose(x, 1, 0) }, Cost{Bytes: 2 * 64}},
		{"sum", func(x *Array) *Array { return Sum(x) }, Cost{FLOPs: 16, Bytes: 64 + 4}},
		{"comparison", func(x *Array) *Array { return Lt(x, x) }, Cost{IntOps: 16, Bytes: 2*64 + 16}},
		{"a loop", func(x *Array) *Array {
			x, _ = Scan(func(x, _ *Array) (*Array, None) { return Mul(x, x), None{} }, x, Iota(10))
			return x
		}, Cost{FLOPs: 160, Bytes: 10 * 3 * 64}},
		{"the costlier branch", func(x *Array) *Array {
			return Cond(Gt(Sum(x), 0), func() *Array { return x }, func() *Array { return Mul(mul(x), x) })
		}, Cost{FLOPs: 16 + 32, IntOps: 2, Bytes: 64 + 4 + 2*4 + 1 + 5 + 2*3*64}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tracedCost(t, c.f, s, nil)
			require.Equal(t, c.want, got)
		})
	}
}

func TestCostOfAWhile(t *testing.T) {
	f := func(x *Array) *Array {
		return While(func(x *Array) *Array { return Lt(x, 100) }, func(x *Array) *Array { return Mul(x, x) }, x)
	}
	require.EqualValues(t, 1, tracedCost(t, f, ShapeOf(Float32), nil).FLOPs)
	got := tracedCost(t, f, ShapeOf(Float32), func(n *Node) int {
		require.Equal(t, "while", n.Op.Name)
		return 7
	})
	require.EqualValues(t, 7, got.FLOPs)
	require.EqualValues(t, 7, got.IntOps)
}
