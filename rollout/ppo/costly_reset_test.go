package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/settings"
)

// Resets that are made only after an episode ended are, to the byte, those that are made beforehand for all steps.
func TestCostlyResets(t *testing.T) {
	for env, costly := range map[string]bool{"CartPole-v1": false, "Gather-v1": true} {
		c := small(func(c *Config) { c.Env = env })
		g, err := c.program()
		require.NoError(t, err)
		require.Equal(t, costly, g.costlyReset, env)
		c.Agents = 2
		g, err = c.program()
		require.NoError(t, err)
		require.False(t, g.costlyReset, "of several agents no branch is alone")
	}
	g := smallProgram(t, func(c *Config) {
		c.EnvParam, c.Epochs, c.Minibatches = settings.Pairs{"gravity": "9..11", "max-steps": "7"}, 1, 1
	})
	var all [2][]float64
	for i, costly := range []bool{false, true} {
		g.costlyReset = costly
		states, _ := evalUpdates(t, g, 2)
		all[i] = floatsOf(t, []any{states[1].Params, states[1].EnvStates})
	}
	require.Equal(t, all[0], all[1])
}
