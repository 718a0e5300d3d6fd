package evolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// sharing is a run of eggroll, whose members share their matrices.
func sharing(spec string) Config {
	c := DefaultConfig().With("strategy.rank", 2)
	c.Env, c.Strategy, c.Policy, c.Population, c.Steps, c.Tile = "Pendulum-v1", "eggroll", spec, 24, 20, 8
	return c
}

// In the loop over an episode's steps, each layer is one product of all members of the tile with one matrix, plus a
// product of low rank for each member.
func TestSharedProductsAreOneForATile(t *testing.T) {
	c := sharing("mlp:32,16")
	c.HallOfFame = "0" // whose places are matrices
	e := start(t, &xlabridge.Reference{}, c)
	var text strings.Builder
	require.NoError(t, lower.Dump(&text, e.Compiled().Program, lower.Simplified, graph.TargetCPU))
	_, steps, ok := strings.Cut(text.String(), "Name:"+episode.StepsLoop)
	require.True(t, ok)
	for _, width := range []int{32, 16} {
		require.Regexp(t, fmt.Sprintf(`f32\[(2,4|4,2),%d\] = dot_general\{LeftBatch:\[\] RightBatch:\[\]`, width),
			steps)
		require.Regexp(t, fmt.Sprintf(`f32\[2,4,%d\] = low_rank`, width), steps)
	}
	require.NotRegexp(t, `f32\[(8|4|2,4),32,16\]`, text.String(),
		"no matrix for each member, nor for each pair in tell")
}

// The first state of a large member, computed on the devices, equals the interpreter's up to rounding.
func TestLargeMembersStartOnTheDevices(t *testing.T) {
	c := sharing("mlp:512,520")
	c.Population, c.Steps, c.Tile, c.Devices, c.HallOfFame = 2, 1, 2, 2, "0"
	b := xlatest.Open(t, 2)
	e := start(t, b, c)
	require.GreaterOrEqual(t, e.Profile().Fact("parameters"), generation.LargeMember)
	s, err := e.Snapshot(t.Context())
	require.NoError(t, err)
	got, err := graph.Floats(graph.SliceAxis(s.Arrays["strategy.mean.layers.1.w"], 0, 0, 2))
	require.NoError(t, err)
	want, err := graph.Floats(
		graph.SliceAxis(
			e.program.Start(random.New(c.Seed)).Strategy.(strategy.EggrollState).Mean.(policy.Params).Layers[1].W, 0,
			0, 2))
	require.NoError(t, err)
	require.InDeltaSlice(t, want, got, 1e-5)
	steps(t, e, 1)
}
