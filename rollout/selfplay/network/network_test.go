package network

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

var clique6 = Game{Observation: []int{15, 3}, Actions: 15, Vertices: 6}

func made(t *testing.T, spec string, g Game) (Network, any) {
	t.Helper()
	n, err := Make(spec, nil, g)
	require.NoError(t, err)
	var p any
	require.NoError(t, graph.Try(func() { p = n.Init(random.New(3)) }))
	p, err = graph.Eval(p)
	require.NoError(t, err)
	return n, p
}

type out struct{ Logits, Value *graph.Array }

func apply(t *testing.T, n Network, p any, observation *graph.Array) (logits []float64, value float64) {
	t.Helper()
	o, err := graph.Eval(func() (o out) { o.Logits, o.Value = n.Apply(p, observation); return o }())
	require.NoError(t, err)
	logits, err = graph.Floats(o.Logits)
	require.NoError(t, err)
	value, err = graph.Float(o.Value)
	require.NoError(t, err)
	return logits, value
}

func drawn(seed int64, dims ...int) *graph.Array {
	return random.Normal(random.New(seed), graph.ShapeOf(graph.Float32, dims...))
}

// Every network gives logits of all actions and a value within its bounds, for boards and graphs, of large numbers too.
func TestShapesAndBounds(t *testing.T) {
	games := map[string]Game{"clique": clique6, "ramsey": {Observation: []int{10, 2}, Actions: 20, Vertices: 5},
		"board": {Observation: []int{3, 4, 2}, Actions: 7}}
	for name, g := range games {
		for _, spec := range []string{"mlp:8", "graph:8", "tower:4"} {
			if name == "board" && spec == "graph:8" {
				continue
			}
			t.Run(name+" "+spec, func(t *testing.T) {
				n, p := made(t, spec, g)
				for _, scale := range []float64{0, 1, 1e4} {
					logits, v := apply(t, n, p, graph.Mul(drawn(1, g.Observation...), scale))
					require.Len(t, logits, g.Actions)
					require.LessOrEqual(t, math.Abs(v), 1.)
					for _, x := range logits {
						require.False(t, math.IsNaN(x) || math.IsInf(x, 0))
					}
				}
			})
		}
	}
}

// The graph network does not know the names of the vertices: under a permutation its policy is permuted, in both
// colors, and its value stays the same.
func TestEquivariance(t *testing.T) {
	permutation := []int{3, 0, 5, 1, 4, 2}
	to := board.Permuted(permutation)
	for _, c := range []struct {
		name   string
		game   Game
		colors int
	}{{"clique", clique6, 1}, {"ramsey", Game{Observation: []int{15, 2}, Actions: 30, Vertices: 6}, 2}} {
		n, p := made(t, "graph:16", c.game)
		features := c.game.Observation[1]
		x, err := graph.Floats(drawn(2, 15, features))
		require.NoError(t, err)
		first, moved := make([]float32, len(x)), make([]float32, len(x))
		for e := range 15 {
			for f := range features {
				first[e*features+f] = float32(x[e*features+f])
				moved[int(to[e])*features+f] = float32(x[e*features+f])
			}
		}
		logits, v := apply(t, n, p, graph.Float32s(first, 15, features))
		others, w := apply(t, n, p, graph.Float32s(moved, 15, features))
		require.InDelta(t, v, w, 1e-5, c.name)
		spread := 0.
		for color := range c.colors {
			for e := range 15 {
				require.InDelta(t, logits[color*15+e], others[color*15+int(to[e])], 1e-5, "%s, edge %d", c.name, e)
				spread = max(spread, math.Abs(logits[color*15+e]-logits[0]))
			}
		}
		require.Greater(t, spread, 1e-3, "edges differ")
	}
}

// Messages reach the edges that share a vertex, and their loops written out give the same numbers.
func TestMessagesAreThoseOfALoop(t *testing.T) {
	n, p := made(t, "graph:4", clique6)
	net, params := n.(edgeNetwork), p.(edgeParams)
	h, err := graph.Floats(drawn(5, 15, 4))
	require.NoError(t, err)
	at := make([]float32, len(h))
	for i, x := range h {
		at[i] = float32(x)
	}
	ends := graph.Float32s(net.ends, 6, 15)
	x := graph.Float32s(at, 15, 4)
	shared, err := graph.Floats(graph.Sub(graph.Dot(graph.Transpose(ends), graph.Dot(ends, x)), graph.Mul(x, 2)))
	require.NoError(t, err)
	for e := range 15 {
		a, b := board.Ends(6, e)
		for k := range 4 {
			want, neighbors := 0., 0
			for other := range 15 {
				c, d := board.Ends(6, other)
				if other != e && (a == c || a == d || b == c || b == d) {
					want += h[other*4+k]
					neighbors++
				}
			}
			require.Equal(t, 8, neighbors)
			require.InDelta(t, want, shared[e*4+k], 1e-5)
		}
	}
	require.Len(t, params.Rounds, 3)
}

// A tower sees a graph as its matrix of adjacency.
func TestAdjacency(t *testing.T) {
	n, _ := made(t, "tower:4", Game{Observation: []int{3, 1}, Actions: 3, Vertices: 3})
	got, err := graph.Floats(n.(tower).picture(graph.Float32s([]float32{1, 2, 3}, 3, 1)))
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1, 2, 1, 0, 3, 2, 3, 0}, got)
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		number int
		spec   string
		own    settings.Values
		game   Game
		want   string
	}{
		{1, "grahp:8", nil, clique6, `network: got "grahp:8", want one of graph, mlp, tower; did you mean graph?`},
		{2, "mlp:", nil, clique6, "the hidden layers' sizes"},
		{3, "mlp:0", nil, clique6, "the hidden layers' sizes"},
		{4, "graph:8", nil, Game{Observation: []int{3, 3, 2}, Actions: 9}, "colors no edges"},
		{5, "tower:8", nil, Game{Observation: []int{9}, Actions: 9}, "not a picture"},
		{6, "graph:8", settings.Values{"width": 9}, clique6, "not both"},
		{7, "graph", settings.Values{"depth": 9}, clique6, "network.width, network.rounds"},
		{8, "graph", settings.Values{"rounds": 0}, clique6, "network.rounds"},
	} {
		_, err := Make(c.spec, c.own, c.game)
		require.ErrorContains(t, err, c.want, "case %d", c.number)
	}
}
