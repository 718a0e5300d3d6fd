package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Rolls of one array become slices of it with a border, on CPUs, and give the same results.
func TestRolls(t *testing.T) {
	neighbors := func(x *Array) *Array { // weighted, so that no two may be exchanged
		sum, weight := ZerosLike(x), 0.
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				weight++
				sum = Add(sum, Mul(weight, Roll(Roll(x, dy, 0), dx, 1)))
			}
		}
		return sum
	}
	for _, c := range []struct {
		name           string
		dims           []int
		f              func(x *Array) *Array
		target         Target
		concatenations int // in the lowered program
	}{
		{"the neighbors in a grid", []int{64, 64}, neighbors, TargetCPUKernels, 2},
		{"CPUs without kernels", []int{32, 128}, neighbors, TargetCPU, 2},
		{"a GPU", []int{64, 64}, neighbors, TargetCUDA, 8},
		{"too few elements", []int{63, 65}, neighbors, TargetCPUKernels, 8},
		{"short rows", []int{256, 31}, neighbors, TargetCPUKernels, 8},
		{"in a loop", []int{64, 64}, func(x *Array) *Array {
			return ForiLoop(0, 3, func(_, x *Array) *Array { return neighbors(x).Mul(.125) }, x)
		}, TargetCPUKernels, 2},
		{"one axis, unlike places", []int{4096}, func(x *Array) *Array {
			return Roll(x, 3, 0).Sub(Roll(x, -8, 0)).Mul(Roll(x, 4095, 0))
		}, TargetCPUKernels, 1},
		{"too far", []int{4096}, func(x *Array) *Array { return Roll(x, 9, 0).Sub(Roll(x, -9, 0)) },
			TargetCPUKernels, 2},
		{"only one roll", []int{64, 64}, func(x *Array) *Array { return x.Sub(Roll(x, 1, 1)) },
			TargetCPUKernels, 1},
		{"twice along one axis", []int{64, 64}, func(x *Array) *Array {
			once := Roll(x, 1, 0)
			return once.Mul(2).Add(Roll(x, -1, 0)).Sub(Roll(once, 1, 0)).Mul(Roll(once, -2, 0))
		}, TargetCPUKernels, 2},
		{"other concatenations", []int{64, 64}, func(x *Array) *Array {
			twice := Concatenate(0, SliceAxis(x, 0, 1, 64), SliceAxis(x, 0, 0, 2)) // the second row twice
			other := Concatenate(0, SliceAxis(x, 0, 1, 64), SliceAxis(x.Mul(2), 0, 0, 1))
			return SliceAxis(twice, 0, 0, 64).Sub(other)
		}, TargetCPUKernels, 2},
		{"several batches", []int{2, 48, 48}, func(x *Array) *Array { return VMap(neighbors)(x) },
			TargetCPUKernels, 2},
	} {
		p, err := Trace("rolls", c.f, Abstract(ShapeOf(Float32, c.dims...)))
		require.NoError(t, err, c.name)
		l, err := Lower(p, c.target)
		require.NoError(t, err, c.name)
		count := 0
		l.Graph.Any(func(n *Node) bool {
			if n.Op.Name == "concatenate" {
				count++
			}
			return false
		})
		require.Equal(t, c.concatenations, count, c.name)
		x := newTensor(p.Inputs[0])
		for k := range x.V {
			x.SetF(k, float64(k*37%101))
		}
		want, err := Interpret(p.Graph, []*Tensor{x}, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, interpretLowered(t, c.target, p, x)[0].V, c.name)
	}
}
