package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// A kernel makes the hashes outside of loops that are one function. It reads words of keys where they lie.
func TestHashCalls(t *testing.T) {
	type inputs struct{ Keys, Trips *graph.Array }
	word := func(keys *graph.Array, i int) *graph.Array { // [5, 3] of keys [5, 3, 2]
		return graph.SliceAxis(keys, 2, i, i+1).Squeeze(2)
	}
	sum := func(a, b *graph.Array) *graph.Array { return graph.Add(a, graph.Mul(b, 3)) }
	for _, c := range []struct {
		name          string
		f             func(in inputs) *graph.Array
		calls, hashes int
		reads         bool // the kernel reads the keys themselves
	}{
		{"each key", func(in inputs) *graph.Array {
			return sum(graph.Random.ThreeFry2x32(word(in.Keys, 0), word(in.Keys, 1), graph.Of(uint32(7)),
				graph.Of(uint32(8))))
		}, 1, 0, true},
		{"each key transposed, four counters", func(in inputs) *graph.Array {
			wide := func(i int) *graph.Array {
				return graph.BroadcastTo(graph.Transpose(word(in.Keys, i), 1, 0).ExpandDims(1), 3, 4, 5)
			}
			return sum(graph.Random.ThreeFry2x32(wide(0), wide(1), graph.Of(uint32(0)),
				graph.IotaAxis(graph.ShapeOf(graph.Uint32, 3, 4, 5), 1)))
		}, 1, 0, true},
		{"one key of many", func(in inputs) *graph.Array {
			key := in.Keys.Index(4).Index(1)
			return sum(graph.Random.ThreeFry2x32(key.Index(0), key.Index(1), graph.Of(uint32(0)), graph.Of(uint32(9))))
		}, 1, 0, true},
		{"words that are computed", func(in inputs) *graph.Array {
			return sum(graph.Random.ThreeFry2x32(word(in.Keys.Add(1), 0), word(in.Keys.Mul(2), 1), graph.Of(uint32(0)),
				graph.Reshape(graph.Iota(15).Convert(graph.Uint32), 5, 3)))
		}, 1, 0, false},
		{"more than a core should make", func(in inputs) *graph.Array {
			n := 1<<16 + 1
			key := in.Keys.Index(4).Index(1)
			return sum(graph.Random.ThreeFry2x32(graph.BroadcastTo(key.Index(0), n), graph.BroadcastTo(key.Index(1), n),
				graph.Of(uint32(0)), graph.Iota(n).Convert(graph.Uint32)))
		}, 0, 1, false},
		{"in a loop", func(in inputs) *graph.Array {
			type carry struct{ I, Sum *graph.Array }
			return graph.While(func(c carry) *graph.Array { return c.I.Lt(in.Trips) }, func(c carry) carry {
				return carry{c.I.Add(1), graph.Add(c.Sum, sum(graph.Random.ThreeFry2x32(word(in.Keys, 0),
					word(in.Keys, 1), graph.Of(uint32(7)), c.I.Convert(graph.Uint32))))}
			}, carry{graph.Zeros(graph.ShapeOf(graph.Int32)), graph.Zeros(graph.ShapeOf(graph.Uint32, 5, 3))}).Sum
		}, 0, 1, false},
	} {
		p, err := graph.Trace("hash", c.f, inputs{graph.Abstract(graph.ShapeOf(graph.Uint32, 5, 3, 2)),
			graph.Abstract(graph.ShapeOf(graph.Int32))})
		require.NoError(t, err, c.name)
		l, err := Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err, c.name)
		calls, hashes, reads := 0, 0, false
		l.Graph.Any(func(n *graph.Node) bool {
			switch n.Op.Name {
			case "custom_call":
				calls++
				reads = n.Inputs[0] == l.Graph.Params[0] && n.Inputs[1] == l.Graph.Params[0]
			case "threefry2x32":
				hashes++
			}
			return false
		})
		require.Equal(t, c.calls, calls, c.name)
		require.Equal(t, c.hashes, hashes, c.name)
		require.Equal(t, c.reads, reads, c.name)
		given := []*graph.Tensor{tensorOf(t, graph.Reshape(graph.Iota(30).Convert(graph.Uint32).Mul(77), 5, 3, 2)),
			tensorOf(t, graph.Of(int32(4)))}
		want, err := graph.Interpret(p.Graph, given, nil)
		require.NoError(t, err, c.name)
		got, err := graph.Interpret(l.Graph, given, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, got[0].V, c.name)
	}
}
