package search

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// hidden is a network with two hidden layers of 64.
type hidden struct{ W [4]*graph.Array }

func newHidden(in, actions int) hidden {
	k := random.SplitN(random.New(0), 4)
	draw := func(k random.Key, dims ...int) *graph.Array {
		return graph.Mul(random.Normal(k, graph.ShapeOf(graph.Float32, dims...)), .1)
	}
	return hidden{[4]*graph.Array{draw(k[0], in, 64), draw(k[1], 64, 64), draw(k[2], 64, actions), draw(k[3], 64, 1)}}
}

func (n hidden) apply(observation *graph.Array) (logits, value *graph.Array) {
	x := graph.Relu(graph.Dot(graph.Flatten1D(observation), n.W[0]))
	x = graph.Relu(graph.Dot(x, n.W[1]))
	return graph.Dot(x, n.W[2]), graph.Tanh(graph.Index(graph.Dot(x, n.W[3]), 0))
}

// selfPlay plays a whole clique game with a search for each move.
func selfPlay(g board.Game[board.Edges], p Policy, net hidden, key random.Key) *graph.Array {
	m := NewModel(g, func(n hidden, o *graph.Array) (*graph.Array, *graph.Array) { return n.apply(o) }, 1)
	s, _ := g.Reset(key, board.Params{})
	_, weights := graph.Scan(func(s board.State[board.Edges], i *graph.Array) (board.State[board.Edges], *graph.Array) {
		r := Run(p, net, random.FoldIn(key, i), m.Root(net, s), m.Step)
		next, _, _, _, _ := g.Step(key, s, r.Action, board.Params{})
		return next, r.ActionWeights
	}, s, graph.Iota(g.Spec().MaxSteps))
	return weights
}

// Whole games of 64 boards side by side, 50 simulations a move.
func BenchmarkSelfPlay(b *testing.B) {
	const games, simulations = 64, 50
	for _, c := range []struct {
		vertices, k int
		policy      Policy
	}{{6, 3, DefaultGumbel(simulations)}, {6, 3, DefaultPUCT(simulations)}, {14, 4, DefaultGumbel(simulations)}} {
		for _, devices := range []int{1, 2} {
			b.Run(fmt.Sprintf("K%d-%d %T on %d", c.vertices, c.k, c.policy, devices), func(b *testing.B) {
				g, err := board.Clique(board.Maker, c.vertices, c.k)
				require.NoError(b, err)
				client, err := xlabridge.Open(b.Context(), xlabridge.Options{Devices: devices})
				require.NoError(b, err)
				defer client.Close()
				edges := g.Spec().MaxSteps
				net := newHidden(3*edges, edges)
				run := xlabridge.ShardMap(client, func(keys random.Key) *graph.Array {
					return graph.VMap(func(key random.Key) *graph.Array {
						return selfPlay(g, c.policy, net, key)
					})(keys)
				}, graph.Mesh{{Name: "devices", Size: devices}}, graph.Spec{"devices"}, graph.Spec{"devices"})
				for b.Loop() {
					out, err := run(random.Split(random.New(1), games))
					require.NoError(b, err)
					_, err = graph.Floats(out)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(b.N*games*edges*simulations)/b.Elapsed().Seconds()/1e3, "Ksimulations/s")
			})
		}
	}
}
