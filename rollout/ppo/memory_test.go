package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/xlatest"
)

// A policy with memory learns what one without cannot: the sign that was shown first decides which last action is
// right.
func TestLearnsToRemember(t *testing.T) {
	long.Only(t) // TestUpdateIsWiredAsLoopsAre has memory, and TestLearnsCartPole learns
	b := xlatest.Open(t, 1)
	meanReturn := func(policy string) float64 {
		r := start(t, b, small(func(c *Config) {
			c.Env, c.Policy, c.Envs, c.Horizon, c.LearningRate, c.Steps = "MemoryChain-bsuite-v1", policy, 32, 24,
				settings.Num(.01), 32*24*40
		}))
		all := steps(t, r, 40)
		return of(t, all[39], "mean_return")
	}
	require.Greater(t, meanReturn("gru:8"), .9)
	require.Greater(t, meanReturn("lstm:8"), .9)
	require.Greater(t, meanReturn("mingru:8"), .9)
	require.Less(t, meanReturn("mlp:8"), .5)
}
