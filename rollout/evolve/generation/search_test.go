package generation

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
)

// check checks a search for a machine.
func check(c *Search, on plan.Machine) error {
	_, err := c.NewSetup(Options{}, on)
	return err
}

// What the check of a config has made is kept where it says so, and belongs to no other machine, config or options.
func TestChecksFollowTheConfig(t *testing.T) {
	c := DefaultSearch()
	small := plan.Machine{Devices: 1, Free: 1 << 16}
	once := c.Once()
	require.NoError(t, check(&once, plan.Machine{Devices: 2}))
	kept := once.made.setup
	require.NoError(t, check(&once, plan.Machine{Devices: 2}))
	require.Same(t, kept, once.made.setup, "what was made is not made again")
	require.ErrorContains(t, check(&once, small), "256 members of 386 parameters", "a smaller machine")
	other, clone := once.With("strategy.sigma", .2), once.Clone()
	require.Nil(t, other.made)
	require.Nil(t, clone.made)
	normalized, err := once.NewSetup(Options{NormalizeObservations: true}, plan.Machine{Devices: 2})
	require.NoError(t, err)
	require.True(t, normalized.Options.NormalizeObservations)
	require.NotSame(t, kept, once.made.setup)
	c.Population = 257
	require.ErrorContains(t, check(&c, plan.Machine{Devices: 2}), "pop: got 257", "another population")
	c.Population, c.Policy = 256, "mlp:8"
	x, err := c.NewSetup(Options{}, plan.Machine{Devices: 2})
	require.NoError(t, err)
	require.Equal(t, 58, x.Params, "another policy")
	c.Parted = settings.Values{"strategy.sigma": .1}
	require.NoError(t, check(&c, plan.Machine{Devices: 2}))
	c.Parted["strategy.sigma"] = -1.
	require.ErrorContains(t, check(&c, plan.Machine{Devices: 2}), "strategy.sigma",
		"a setting of a part, in the same map")
	delete(c.Parted, "strategy.sigma")
	x.Rollout.Episodes, x.Search.Population = 7, 2
	y, err := c.NewSetup(Options{}, plan.Machine{Devices: 2})
	require.NoError(t, err)
	require.Equal(t, []int{1, 256}, []int{y.Rollout.Episodes, y.Search.Population},
		"an experiment is its caller's")
	c.Devices = 3
	require.ErrorContains(t, check(&c, plan.Machine{Devices: 2}), "devices: got 3")
	c.Devices, c.EnvParam = 0, settings.Pairs{"gravity": "9.8"}
	require.NoError(t, check(&c, plan.Machine{Devices: 2}))
	c.EnvParam["gravitas"] = "1"
	require.ErrorContains(t, check(&c, plan.Machine{Devices: 2}), "gravitas",
		"a parameter of the environment, in the same map")
	delete(c.EnvParam, "gravitas")
	var all sync.WaitGroup
	for range 4 { // several may check one config
		all.Go(func() { assert.NoError(t, check(&once, plan.Machine{Devices: 1})) })
	}
	all.Wait()
}
