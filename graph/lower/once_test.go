package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A key that is read in several places is computed once. One that is read in one place is computed there.
func TestHashesOnce(t *testing.T) {
	hash := func(k [2]*graph.Array, counter uint32) [2]*graph.Array {
		a, b := graph.Random.ThreeFry2x32(k[0], k[1], graph.Zeros(graph.ShapeOf(graph.Uint32)), graph.Of(counter))
		return [2]*graph.Array{a, b}
	}
	// draws is the sum of n draws with a key.
	draws := func(k [2]*graph.Array, n int) *graph.Array {
		sum := graph.Zeros(graph.ShapeOf(graph.Uint32, 25))
		for i := range n {
			sum = graph.Add(sum, hash(k, uint32(2+i))[0])
		}
		return sum
	}
	keys := []any{graph.Abstract(graph.ShapeOf(graph.Uint32, 25)), graph.Abstract(graph.ShapeOf(graph.Uint32, 25)),
		graph.Abstract(graph.ShapeOf(graph.Int32))}
	for _, c := range []struct {
		name             string
		draw             func(k [2]*graph.Array, trips *graph.Array) *graph.Array
		barriers, hashes int
	}{
		{"a chain", func(k [2]*graph.Array, _ *graph.Array) *graph.Array { return hash(hash(hash(k, 1), 2), 3)[0] }, 2,
			3},
		{"a key for four draws in one loop", func(k [2]*graph.Array, _ *graph.Array) *graph.Array {
			return draws(hash(k, 1), 4)
		}, 1, 5},
		{"a key for two draws apart", func(k [2]*graph.Array, _ *graph.Array) *graph.Array {
			k = hash(k, 1)
			return graph.Concatenate(0, draws(k, 1), hash(k, 9)[0])
		}, 1, 3},
		{"a key for a draw of many numbers", func(k [2]*graph.Array, _ *graph.Array) *graph.Array {
			k = hash(k, 1)
			wide := func(x *graph.Array) *graph.Array { return graph.BroadcastTo(x.ExpandDims(1), 25, 3) }
			a, _ := graph.Random.ThreeFry2x32(wide(k[0]), wide(k[1]), graph.Zeros(graph.ShapeOf(graph.Uint32, 25, 3)),
				graph.IotaAxis(graph.ShapeOf(graph.Uint32, 25, 3), 1))
			return a
		}, 1, 2},
		{"both words for one draw", func(k [2]*graph.Array, _ *graph.Array) *graph.Array {
			k = hash(k, 1)
			k = hash([2]*graph.Array{graph.Add(k[0], graph.Of(uint32(7))), k[1]}, 2)
			return graph.Xor(k[0], k[1])
		}, 1, 2},
		{"stacked, transposed and sliced in between", func(k [2]*graph.Array, _ *graph.Array) *graph.Array {
			k = hash(k, 1)
			both := graph.Transpose(graph.Stack([]*graph.Array{k[0], k[1]}, 1), 1, 0)
			k = [2]*graph.Array{both.Index(0), both.Index(1)}
			return draws(k, 4)
		}, 1, 5},
		{"inside of a loop", func(k [2]*graph.Array, trips *graph.Array) *graph.Array {
			type carry struct{ I, Sum *graph.Array }
			return graph.While(func(c carry) *graph.Array { return c.I.Lt(trips) }, func(c carry) carry {
				k := hash([2]*graph.Array{k[0].Add(c.I.Convert(graph.Uint32)), k[1]}, 1)
				return carry{c.I.Add(1), graph.Add(graph.Add(c.Sum, hash(k, 9)[0]), graph.Reverse(draws(k, 2), 0))}
			}, carry{graph.Zeros(graph.ShapeOf(graph.Int32)), graph.Zeros(graph.ShapeOf(graph.Uint32, 25))}).Sum
		}, 1, 4},
	} {
		p, err := graph.TraceArgs("draw", keys, graph.TraceOptions{}, func(in []any) any {
			return c.draw([2]*graph.Array{in[0].(*graph.Array), in[1].(*graph.Array)}, in[2].(*graph.Array))
		})
		require.NoError(t, err, c.name)
		ops := opsOf(t, graph.TargetCPU, p)
		require.Equal(t, c.barriers, ops["optimization_barrier"], c.name)
		require.Equal(t, c.hashes, ops["threefry2x32"], c.name)
		require.Zero(t, opsOf(t, graph.TargetCUDA, p)["optimization_barrier"], c.name)
		given := []*graph.Tensor{tensorOf(t, graph.Iota(25).Convert(graph.Uint32)),
			tensorOf(t, graph.Iota(25).Convert(graph.Uint32).Mul(3)),
			tensorOf(t, graph.Of(int32(4)))}
		want, err := graph.Interpret(p.Graph, given, nil)
		require.NoError(t, err, c.name)
		l, err := Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err, c.name)
		got, err := graph.Interpret(l.Graph, given, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, got[0].V, c.name)
	}
}

// A value that is computed again in very many places is named with its line.
func TestRepeated(t *testing.T) {
	chain := func(steps int) *graph.Program {
		p, err := graph.Trace("chain", func(x *graph.Array) *graph.Array {
			for range steps {
				x = graph.Add(graph.Sin(x), graph.Reverse(x, 0))
			}
			return x
		}, graph.Abstract(graph.ShapeOf(graph.Float32, 8)))
		require.NoError(t, err)
		return p
	}
	require.Empty(t, Repeated(chain(6).Graph))
	require.Contains(t, Repeated(chain(20).Graph), "once_test.go:")
}
