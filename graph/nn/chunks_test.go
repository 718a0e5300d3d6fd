package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// spikingNet is a network along time.
type spikingNet struct {
	First, Second nn.Dense
	A             nn.CuBaLIF
	B             nn.ALIF
}

type spikingNetState struct {
	A nn.CuBaLIFState
	B nn.ALIFState
}

func newSpikingNet(in, units, out int) (spikingNet, spikingNetState) {
	k := random.SplitN(random.New(1), 4)
	n := spikingNet{nn.NewDense(k[0], in, units), nn.NewDense(k[1], units, out), nn.NewCuBaLIF(k[2], units),
		nn.NewALIF(k[3], out)}
	return n, spikingNetState{n.A.Start(units), n.B.Start(out)}
}

func (n spikingNet) Apply(s spikingNetState, x *graph.Array) (spikingNetState, *graph.Array) {
	s.A, x = n.A.Apply(s.A, n.First.Apply(x))
	s.B, x = n.B.Apply(s.B, n.Second.Apply(x))
	return s, x
}

// A network in chunks of any size equals the network step by step: the same spikes, the same state.
func TestInChunksIsStepByStep(t *testing.T) {
	const steps = 23
	n, start := newSpikingNet(5, 9, 4)
	x := graph.Mul(8, random.Normal(random.New(2), graph.ShapeOf(graph.Float32, steps, 5)))
	end, want := graph.Scan(func(s spikingNetState, x *graph.Array) (next spikingNetState, y *graph.Array) {
		next.A, y = n.A.Step(s.A, n.First.Apply(x))
		next.B, y = n.B.Step(s.B, n.Second.Apply(y))
		return next, y
	}, start, x)
	spikes, err := graph.Float(want.Sum())
	require.NoError(t, err)
	require.Greater(t, spikes, 5.)
	for _, size := range []int{1, 7, 22, 23, 24, 1000} {
		last, got := nn.InChunks(size, n.Apply, start, x)
		within(t, want, got, 0, "spikes")
		for i, leaf := range graph.Leaves(end) {
			within(t, leaf, graph.Leaves(last)[i], 1e-5, "state")
		}
	}
	require.ErrorContains(t, graph.Try(func() { nn.InChunks(0, n.Apply, start, x) }), "got size = 0, want at least 1")
	require.ErrorContains(t, graph.Try(func() {
		nn.InChunks(2, n.Apply, start, graph.Zeros(graph.ShapeOf(graph.Float32, 0, 5)))
	}), "with a step or more")
	require.ErrorContains(t, graph.Try(func() {
		nn.InChunks(2, func(s spikingNetState, x *graph.Array) (spikingNetState, *graph.Array) {
			return s, x.Sum()
		}, start, x)
	}), "f gives f32[11] of 2 steps, want [2, …]")
}

// The temporary memory of a run along time grows with the neurons, not with the steps; a gradient's memory, in the long
// form, grows with the steps too.
func TestSpikingMemoryGrowsWithNeurons(t *testing.T) {
	c := xlatest.OpenCPU(t, 1)
	takes := func(steps, units int, gradient bool) int64 {
		n, start := newSpikingNet(4, units, 3)
		run := func(n spikingNet) *graph.Array {
			_, spikes := nn.InChunks(20, func(s spikingNetState, x *graph.Array) (spikingNetState, *graph.Array) {
				s, y := n.Apply(s, x)
				return s, y.Sum(1)
			}, start, graph.Ones(graph.ShapeOf(graph.Float32, steps, 4)))
			return spikes.Sum()
		}
		f := func(args []any) any { return run(args[0].(spikingNet)) }
		if gradient {
			f = func(args []any) any { return graph.Grad(run)(args[0].(spikingNet)) }
		}
		p, err := graph.TraceArgs("run", []any{n}, graph.TraceOptions{}, f)
		require.NoError(t, err)
		compiled, err := c.Compile(p, xlabridge.CompileOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, compiled.Close()) }()
		m, err := compiled.Executable.Memory()
		require.NoError(t, err)
		return m.Temporaries
	}
	few, many, wide := takes(100, 500, false), takes(1000, 500, false), takes(100, 5000, false)
	require.Less(t, float64(many), 1.2*float64(few), "bytes of 100 and of 1,000 steps")
	require.Greater(t, float64(wide), 5*float64(few), "bytes of 500 and of 5,000 neurons")
	if !long.On() {
		return
	}
	require.Greater(t, float64(takes(1000, 500, true)), 5*float64(takes(100, 500, true)),
		"a gradient keeps what it needs of each step")
}
