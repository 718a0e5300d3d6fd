package generation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// sharing is a search of eggroll, whose members share their matrices.
func sharing(spec string) Search {
	c := DefaultSearch().With("strategy.rank", 2)
	c.Env, c.Strategy, c.Policy, c.Population, c.Steps, c.Tile = "Pendulum-v1", "eggroll", spec, 24, 20, 8
	return c
}

// A strategy is named whose Shared returns nothing, or whose Reports have no Report.
func TestFaultyStrategies(t *testing.T) {
	c := sharing("mlp:5")
	x, err := c.NewSetup(Options{}, plan.Machine{Devices: 1})
	require.NoError(t, err)
	p, err := x.Program()
	require.NoError(t, err)
	p = p.Bind(x.Inputs(1))
	p.Strategy.Shared = func(any, any, *graph.Array) policy.Shared { return policy.Shared{} }
	_, err = xlabridge.Jit(&xlabridge.Reference{}, func(key random.Key) *graph.Array {
		s, keys := p.Start(key), p.keys(State{Key: key, Generation: graph.Of(int32(0))}).tile(graph.Of(int32(0)))
		return p.rolloutShared(s, graph.Of(int32(0)), p.ask(s, keys), p.Strategy.Mean(s.Strategy), keys.Members).Return
	})(random.New(3))
	require.ErrorContains(t, err, "the strategy's Traits: Shared returned Params of 0 arrays and 0 Factors, want")
	x.Strategy.Reports = []string{"births"}
	require.ErrorContains(t, c.check(x.Strategy), "the strategy's Traits: got 1 names in Reports and a function "+
		"Report: false, want both or none")
}

// Members with shared matrices have the results of members whose matrices are formed.
func TestSharedMembersPlayAsFormedOnes(t *testing.T) {
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		b = xlatest.Open(t, 1)
	}
	for _, spec := range []string{"gru:5", "mlp:17,9"} {
		c := sharing(spec)
		x, err := c.NewSetup(Options{}, plan.Machine{Devices: 1})
		require.NoError(t, err)
		p, err := x.Program()
		require.NoError(t, err)
		require.True(t, p.sharesMatrices())
		p = p.Bind(x.Inputs(1))
		type rollout = func(s State, tile *graph.Array, draws, result any, keys random.Key) episode.Summary
		returns := func(rollout rollout) []float64 {
			all, err := xlabridge.Jit(b, func(key random.Key) *graph.Array {
				s, keys := p.Start(key), p.keys(State{Key: key, Generation: graph.Of(int32(0))}).tile(
					graph.Of(int32(0)))
				return rollout(s, graph.Of(int32(0)), p.ask(s, keys), p.Strategy.Mean(s.Strategy), keys.Members).Return
			})(random.New(3))
			require.NoError(t, err)
			v, err := graph.Floats(all)
			require.NoError(t, err)
			return v
		}
		shared, formed := returns(p.rolloutShared), returns(p.rolloutEach)
		require.Len(t, shared, 8)
		for i := range formed {
			// 20 steps from outputs that agree to 1e-6
			require.InEpsilon(t, formed[i], shared[i], 1e-4, "%s, member %d", spec, i)
		}
	}
}
