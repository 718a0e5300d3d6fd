package evolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// sharing is a run of eggroll, whose members share their matrices.
func sharing(spec string) Config {
	c := DefaultConfig().With("strategy.rank", 2)
	c.Env, c.Strategy, c.Policy, c.Population, c.Steps, c.Tile = "Pendulum-v1", "eggroll", spec, 24, 20, 8
	return c
}

// Members that share their matrices reach what they reach when these are formed.
func TestSharedMembersPlayAsFormedOnes(t *testing.T) {
	b := open(t, 1)
	for _, spec := range []string{"mlp:17,9", "gru:5"} {
		c := sharing(spec)
		x, err := c.experiment(plan.Machine{Devices: 1})
		require.NoError(t, err)
		g, err := x.generation()
		require.NoError(t, err)
		require.True(t, g.shares())
		g = g.bound(x.inputs(1))
		play := func(play func(*generation) func(State, any, *graph.Array) episode.Summary) []float64 {
			returns, err := xlabridge.Jit1(b, func(key random.Key) *graph.Array {
				s := g.start(key)
				keys := graph.Reshape(random.Split(key, 12).Data, 3, 4, 2)
				return play(g)(s, g.ask(s, graph.Index(keys, 0)), graph.SliceAxis(keys, 0, 1, 3)).Return
			})(random.New(3))
			require.NoError(t, err)
			v, err := graph.Floats(returns)
			require.NoError(t, err)
			return v
		}
		shared := play(func(g *generation) func(State, any, *graph.Array) episode.Summary { return g.playShared })
		formed := play(func(g *generation) func(State, any, *graph.Array) episode.Summary { return g.playFormed })
		require.Len(t, shared, 8)
		for i := range formed {
			require.InEpsilon(t, formed[i], shared[i], 1e-4, "%s, member %d", spec, i) // 20 steps from outputs that agree to 1e-6
		}
	}
}

// In the loop over an episode's steps each layer is one product of all members of the tile with the one matrix, and what each
// member adds to it.
func TestSharedProductsAreOneForATile(t *testing.T) {
	c := sharing("mlp:32,16")
	c.HallOfFame = "0" // whose places are matrices
	e := start(t, &xlabridge.Reference{}, c)
	var text strings.Builder
	require.NoError(t, e.Compiled().Program.Dump(&text, graph.PhaseSimplified, graph.TargetCPU))
	_, steps, ok := strings.Cut(text.String(), "name:"+episode.StepsLoop)
	require.True(t, ok)
	for _, width := range []int{32, 16} {
		require.Regexp(t, fmt.Sprintf(`f32\[(2,4|4,2),%d\] = dot_general\{leftBatch:\[\] rightBatch:\[\]`, width), steps)
		require.Regexp(t, fmt.Sprintf(`f32\[2,4,%d\] = low_rank`, width), steps)
	}
	require.NotRegexp(t, `f32\[(8|4|2,4),32,16\]`, text.String(), "no matrix for each member, nor for each pair in tell")
}

// Runs with shared members are the same to the byte on any number of devices, with noise drawn again, and after a resume on
// another number.
func TestSharedRunsAreTheSameOnAnyDevices(t *testing.T) {
	b := open(t, 8)
	c := sharing("mlp:16,7")
	c.Population, c.Devices = 52, 1 // 7 tiles, of which one is not full
	one := start(t, b, c)
	want := steps(t, one, 4)
	c.Devices = 8
	eight := start(t, b, c)
	require.Equal(t, want[:2], steps(t, eight, 2))
	snapshot, err := eight.Snapshot()
	require.NoError(t, err)
	c.Devices = 4
	resumed := redrawing(t, b, c)
	require.NoError(t, resumed.Restore(snapshot))
	require.Equal(t, want[2:], steps(t, resumed, 2))
	sameBytes(t, bytesOf(t, one), bytesOf(t, resumed), "resumed")
}

// Case 1: the first state of a large member, computed on the devices, is the interpreter's up to rounding.
func TestLargeMembersStartOnTheDevices(t *testing.T) {
	c := sharing("mlp:512,520")
	c.Population, c.Steps, c.Tile, c.Devices = 2, 1, 2, 2
	b := open(t, 2)
	e := start(t, b, c)
	require.GreaterOrEqual(t, e.Profile().Fact("parameters"), largeMember)
	s, err := e.Snapshot()
	require.NoError(t, err)
	got, err := graph.Floats(graph.SliceAxis(s.Arrays["strategy.mean.layers.1.w"], 0, 0, 2))
	require.NoError(t, err)
	want, err := graph.Floats(graph.SliceAxis(e.generation.start(random.New(c.Seed)).Strategy.(strategy.EggrollState).Mean.(policy.Params).Layers[1].W, 0, 0, 2))
	require.NoError(t, err)
	require.InDeltaSlice(t, want, got, 1e-5)
	steps(t, e, 1)
}
