package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A key that many draws read is computed once. A key that few draws read is computed in each of them.
func TestHashesOnce(t *testing.T) {
	hash := func(k [2]*Array, counter uint32) [2]*Array {
		a, b := ThreeFry2x32(k[0], k[1], Zeros(ShapeOf(Uint32)), Of(counter))
		return [2]*Array{a, b}
	}
	// draws is the sum of n draws with a key.
	draws := func(k [2]*Array, n int) *Array {
		sum := Zeros(ShapeOf(Uint32, 25))
		for i := range n {
			sum = Add(sum, hash(k, uint32(2+i))[0])
		}
		return sum
	}
	keys := []any{Abstract(ShapeOf(Uint32, 25)), Abstract(ShapeOf(Uint32, 25)), Abstract(ShapeOf(Int32))}
	for _, c := range []struct {
		name             string
		draw             func(k [2]*Array, turns *Array) *Array
		barriers, hashes int
	}{
		{"a chain", func(k [2]*Array, _ *Array) *Array { return hash(hash(hash(k, 1), 2), 3)[0] }, 0, 3},
		{"a key for four draws", func(k [2]*Array, _ *Array) *Array { return draws(hash(k, 1), 4) }, 1, 5},
		{"a key for three draws", func(k [2]*Array, _ *Array) *Array { return draws(hash(k, 1), 3) }, 0, 4},
		{"both words for one draw", func(k [2]*Array, _ *Array) *Array {
			k = hash(k, 1)
			k = hash([2]*Array{Add(k[0], Of(uint32(7))), k[1]}, 2)
			return Xor(k[0], k[1])
		}, 0, 2},
		{"stacked, transposed and sliced in between", func(k [2]*Array, _ *Array) *Array {
			k = hash(k, 1)
			both := Transpose(Stack([]*Array{k[0], k[1]}, 1), 1, 0)
			k = [2]*Array{both.Index(0), both.Index(1)}
			return draws(k, 4)
		}, 1, 5},
		{"inside of a loop", func(k [2]*Array, turns *Array) *Array {
			type carry struct{ I, Sum *Array }
			return While(func(c carry) *Array { return c.I.Lt(turns) }, func(c carry) carry {
				k := hash([2]*Array{k[0].Add(c.I.Convert(Uint32)), k[1]}, 1)
				return carry{c.I.Add(1), Add(c.Sum, draws(k, 4))}
			}, carry{Zeros(ShapeOf(Int32)), Zeros(ShapeOf(Uint32, 25))}).Sum
		}, 1, 5},
	} {
		p, err := TraceArgs("draw", keys, TraceOptions{}, func(in []any) any {
			return c.draw([2]*Array{in[0].(*Array), in[1].(*Array)}, in[2].(*Array))
		})
		require.NoError(t, err, c.name)
		ops := opsOf(t, TargetCPUKernels, p)
		require.Equal(t, c.barriers, ops["optimization_barrier"], c.name)
		require.Equal(t, c.hashes, ops["threefry2x32"], c.name)
		require.Zero(t, opsOf(t, TargetCUDA, p)["optimization_barrier"], c.name)
		given := []*Tensor{tensorOf(t, Iota(25).Convert(Uint32)), tensorOf(t, Iota(25).Convert(Uint32).Mul(3)),
			tensorOf(t, Of(int32(4)))}
		want, err := Interpret(p.Graph, given, nil)
		require.NoError(t, err, c.name)
		l, err := Lower(p, TargetCPUKernels)
		require.NoError(t, err, c.name)
		got, err := Interpret(l.Graph, given, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, got[0].V, c.name)
	}
}
