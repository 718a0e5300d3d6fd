package search

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// small is the network of the peer: two hidden layers of 64.
type small struct{ W [4]*graph.Array }

func newSmall(in, actions int) small {
	k := random.SplitN(random.New(0), 4)
	draw := func(k random.Key, dims ...int) *graph.Array {
		return graph.Mul(random.Normal(k, graph.ShapeOf(graph.Float32, dims...)), .1)
	}
	return small{[4]*graph.Array{draw(k[0], in, 64), draw(k[1], 64, 64), draw(k[2], 64, actions), draw(k[3], 64, 1)}}
}

func (s small) apply(observation *graph.Array) (logits, value *graph.Array) {
	x := graph.Relu(graph.Dot(graph.Flatten1D(observation), s.W[0]))
	x = graph.Relu(graph.Dot(x, s.W[1]))
	return graph.Dot(x, s.W[2]), graph.Tanh(graph.Index(graph.Dot(x, s.W[3]), 0))
}

// selfPlay plays whole games of the clique game with a search for each move.
func selfPlay(g board.Game[board.Edges], p Policy, net small, key random.Key) *graph.Array {
	m := Of(g, func(net small, o *graph.Array) (*graph.Array, *graph.Array) { return net.apply(o) }, 1)
	s, _ := g.Reset(key, board.Params{})
	_, moves := graph.Scan(func(s board.State[board.Edges], i *graph.Array) (board.State[board.Edges], *graph.Array) {
		r := Run(p, net, random.FoldIn(key, i), m.Root(net, s), m.Step)
		next, _, _, _, _ := g.Step(key, s, r.Action, board.Params{})
		return next, r.Weights
	}, s, graph.Iota(g.Spec().MaxSteps))
	return graph.Sum(moves)
}

// TestSpeedOfSelfPlay prints simulations a second: XLARUN_SEARCH_SPEED="6 3 64 50 gumbel".
func TestSpeedOfSelfPlay(t *testing.T) {
	var n, k, games, simulations int
	var name string
	if _, err := fmt.Sscan(os.Getenv("XLARUN_SEARCH_SPEED"), &n, &k, &games, &simulations, &name); err != nil {
		t.Skip("asked for by XLARUN_SEARCH_SPEED")
	}
	devices, _ := strconv.Atoi(os.Getenv("XLARUN_SEARCH_DEVICES"))
	g, err := board.Clique(board.Maker, n, k)
	require.NoError(t, err)
	var p Policy = DefaultGumbel(simulations)
	if name == "puct" {
		p = DefaultPUCT(simulations)
	}
	c, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: max(1, devices)})
	require.NoError(t, err)
	defer c.Close()
	net := newSmall(3*g.Spec().MaxSteps, g.Spec().MaxSteps)
	play := func(net small, keys random.Key) *graph.Array {
		return graph.VMap(func(key random.Key) *graph.Array { return selfPlay(g, p, net, key) })(keys)
	}
	keys := random.Split(random.New(1), games)
	if file := os.Getenv("XLARUN_SEARCH_HLO"); file != "" {
		prog, err := graph.Trace("selfplay", func(k random.Key) *graph.Array { return play(net, k) }, keys)
		require.NoError(t, err)
		x, err := c.Compile(prog, xlabridge.CompileOptions{NoCache: true})
		require.NoError(t, err)
		text, err := x.Optimized()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	var run func(small, random.Key) (*graph.Array, error)
	run = xlabridge.Jit2(c, play)
	start := time.Now()
	out, err := run(net, keys)
	require.NoError(t, err)
	fmt.Println("compile and first", time.Since(start), out.Shape())
	best := time.Hour
	for range 7 {
		start := time.Now()
		out, err := run(net, keys)
		require.NoError(t, err)
		_, err = graph.Floats(out)
		require.NoError(t, err)
		best = min(best, time.Since(start))
	}
	fmt.Printf("%s %d %d %d games: %v, %.0f K simulations/s\n", name, n, k, games, best, float64(games*g.Spec().MaxSteps*simulations)/best.Seconds()/1e3)
}
