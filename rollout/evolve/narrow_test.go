package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	_ "xlarun/envs/minatar"
	_ "xlarun/envs/small"
	"xlarun/rollout/plan"
)

// The rule puts batch last where an episode's steps are arithmetic on single numbers, whatever the policy is
// called, and leaves what the settings give.
func TestRuleOfLanes(t *testing.T) {
	for _, c := range []struct {
		env, policy, strategy string
		last                  bool
	}{
		{"CartPole-v1", "linear", "openes", true},
		{"CartPole-v1", "genome", "neat", true},
		{"Pendulum-v1", "linear", "openes", true},
		{"CartPole-v1", "mlp:16,16", "openes", false},          // products of matrices
		{"CartPole-v1", "hyperneat:16", "neat", false},         // the same
		{"Breakout-MinAtar-v1", "linear", "openes", false},     // a product of 400 numbers by 3
		{"DeepSea-bsuite-v1", "linear", "openes", false},       // a table for each member
		{"BernoulliBandit-misc-v1", "linear", "openes", false}, // drawn numbers in each step
	} {
		config := DefaultConfig()
		config.Env, config.Policy, config.Strategy, config.Steps = c.env, c.policy, c.strategy, 5
		for _, machine := range []plan.Machine{{Devices: 1, Cores: 1, CPU: true}, {Devices: 1, Accelerator: true}} {
			x, err := config.setup(machine)
			require.NoError(t, err, "%s, %s", c.env, c.policy)
			require.Equal(t, c.last && machine.CPU, x.Layout.BatchLast, "%s, %s", c.env, c.policy)
		}
		config.Tile = 32
		x, err := config.setup(plan.Machine{Devices: 1, Cores: 1, CPU: true})
		require.NoError(t, err)
		require.False(t, x.Layout.BatchLast, "the settings give the layout: %s, %s", c.env, c.policy)
	}
}

// Tiles of genomes are as large as their connections allow, not as a matrix of all nodes would.
func TestTilesOfGenomes(t *testing.T) {
	config := DefaultConfig()
	config.Env, config.Policy, config.Strategy, config.Population = "CartPole-v1", "genome", "neat", 1000
	for nodes, want := range map[string]int{"22": 128, "34": 128, "200": 72} {
		sized := config.With("policy.nodes", nodes)
		x, err := sized.setup(plan.Machine{Devices: 1, Cores: 1, CPU: true})
		require.NoError(t, err)
		require.Equal(t, want, x.Layout.Tile, nodes)
	}
}
