package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// A warm-up does not change the state, to the bit, before the first generation and later: for a strategy of vectors,
// one that keeps members, and one of trees. The short form compiles the program of TestDeterminismMatrix.
func TestWarmUpRestoresTheState(t *testing.T) {
	for _, name := range []string{"openes", "pso", "eggroll"} {
		t.Run(name, func(t *testing.T) {
			c := DefaultConfig()
			c.Population, c.Steps, c.Policy, c.Strategy, c.Tile = 24, 5, "linear", name, 8
			var b xlabridge.Backend = &xlabridge.Reference{}
			switch {
			case long.On():
				b = xlatest.Open(t, 2)
			case name == "eggroll":
				c, b = broad(), xlatest.Open(t, 1)
			}
			plain, warmed := start(t, b, c), start(t, b, c) // one compiled program
			for range 2 {
				before := bytesOf(t, warmed)
				seconds, err := run.WarmUp(t.Context(), warmed)
				require.NoError(t, err)
				require.Positive(t, seconds)
				require.Equal(t, before, bytesOf(t, warmed))
				require.Equal(t, steps(t, plain, 2), steps(t, warmed, 2))
			}
			require.Equal(t, bytesOf(t, plain), bytesOf(t, warmed))
		})
	}
}

func TestWarmUpOfAClosedRun(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy = 4, 3, "linear"
	e, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.NoError(t, err)
	require.NoError(t, e.Close())
	_, err = run.WarmUp(t.Context(), e)
	require.Error(t, err)
	_, err = e.Phases(t.Context(), 1)
	require.Error(t, err)
}

// Phases runs the parts of a generation and does not change the state. XLARUN_LONG=1 compiles them, too.
func TestPhases(t *testing.T) {
	backends := []xlabridge.Backend{&xlabridge.Reference{}}
	if long.On() {
		backends = append(backends, xlatest.Open(t, 2))
	}
	for _, b := range backends {
		c := smallTrial("openes")
		c.Tile, c.Devices = 8, b.NumDevices()
		e := start(t, b, c)
		steps(t, e, 1)
		before := bytesOf(t, e)
		phases, err := e.Phases(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, phases, 3)
		for i, name := range []string{"ask", "play", "tell"} {
			require.Equal(t, name, phases[i].Name)
			require.Positive(t, phases[i].Seconds)
		}
		require.Equal(t, before, bytesOf(t, e))
	}
}

func TestPurpose(t *testing.T) {
	c := DefaultConfig()
	require.Equal(t, "evolve CartPole-v1, 256 x mlp:16,16, openes, 500 steps", c.Purpose())
	c.Episodes = 4
	require.Equal(t, "evolve CartPole-v1, 256 x mlp:16,16, openes, 500 steps x 4 episodes", c.Purpose())
}

// The parts together equal the generation: same fitness, same next state.
func TestPhasesAreTheGeneration(t *testing.T) {
	c := DefaultConfig()
	c.Population, c.Steps, c.Policy, c.Tile = 24, 5, "linear", 8
	names := []string{"openes", "simplega", "eggroll"}
	if long.On() {
		names = strategy.Names()
	}
	for _, name := range names {
		if c.Strategy, c.Policy = name, "linear"; name == "neat" {
			c.Policy = "genome"
		}
		e := start(t, &xlabridge.Reference{}, c)
		steps(t, e, 1)
		g := e.program
		now, err := e.State()
		require.NoError(t, err)
		state := now.(generation.State)
		x, err := c.setup(plan.Machine{Devices: 1})
		require.NoError(t, err)
		in := x.Inputs(g.Groups.PerDevice)
		p, err := graph.TraceArgs("parts", []any{state, in}, graph.TraceOptions{Replicas: 1}, func(a []any) any {
			s, in := a[0].(generation.State), a[1].(generation.Inputs)
			draws := g.Ask(s, in)
			reached := g.Evaluate(s, in, draws)
			return []any{reached.Summary.Return, g.Tell(s, in, draws, reached)}
		})
		require.NoError(t, err)
		out, err := p.Interpret(graph.Leaves([]any{state, in}), nil)
		require.NoError(t, err)
		fitness, err := graph.Floats(out[0])
		require.NoError(t, err)
		m := steps(t, e, 1)[0]
		mean := 0.
		for _, f := range fitness {
			mean += f / float64(len(fitness))
		}
		require.InDelta(t, of(t, m, "mean_fitness"), mean, 1e-9)
		after, err := e.State()
		require.NoError(t, err)
		want := graph.Leaves(after)
		require.Len(t, out[1:], len(want))
		for i, a := range want {
			x, err := graph.Floats(a)
			require.NoError(t, err)
			got, err := graph.Floats(out[1+i])
			require.NoError(t, err)
			require.Equal(t, x, got)
		}
	}
}
