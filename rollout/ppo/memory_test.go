package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/settings"
)

// A policy with memory learns what one without cannot: the sign that was shown first decides which last action is right.
func TestLearnsToRemember(t *testing.T) {
	b := open(t)
	learned := func(policy string) float64 {
		r := start(t, b, small(func(c *Config) {
			c.Env, c.Policy, c.Envs, c.Horizon, c.LearningRate, c.Steps = "MemoryChain-bsuite-v1", policy, 32, 24, settings.Num(.01), 32*24*40
		}))
		all := steps(t, r, 40)
		return of(t, all[39], "mean_return")
	}
	for _, policy := range []string{"gru:8", "lstm:8", "mingru:8"} {
		require.Greater(t, learned(policy), .9, policy)
	}
	require.Less(t, learned("mlp:8"), .5)
}
