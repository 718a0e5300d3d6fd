package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
)

// The file of an actor says that its observations are normalized, so that it is played as it was trained. It did not,
// because the policy that normalizes is inside the one that draws actions: saved actors got observations as they are.
func TestFileOfAnActorNormalizes(t *testing.T) {
	for _, normalize := range []bool{false, true} {
		c := DefaultConfig()
		c.Env, c.Policy, c.NormalizeObservations = "Pendulum-v1", "mlp:4", normalize
		trained, err := c.Rollout()
		require.NoError(t, err)
		about := episode.Describe(c.Env, c.Policy, nil, trained.Steps)
		episode.DescribeNormalized(about, trained.Policy)
		episode.DescribeActions(about, trained.Policy, policy.Greedy)
		played, err := episode.RolloutOf(about)
		require.NoError(t, err)
		require.IsType(t, trained.Policy.(*policy.Sampling).Inner, played.Policy.(*policy.Sampling).Inner)
	}
}
