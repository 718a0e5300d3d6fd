package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// The critic is saved with the state: of several agents the one with the highest recent return.
func TestCriticFile(t *testing.T) {
	for _, c := range []struct {
		number, agents int
		shared         bool
	}{{1, 1, false}, {2, 3, false}, {3, 1, true}} {
		config := DefaultConfig()
		config.EvalEnvs = 0
		config.Policy, config.Horizon, config.Envs, config.Agents, config.Shared = "mlp:3", 64, 2, c.agents, c.shared
		config.Steps, config.Target = 1024, "0"
		training, err := New(&xlabridge.Reference{}, config)
		require.NoError(t, err)
		_, err = training.Step(t.Context())
		require.NoError(t, err)
		file, ok, err := training.criticFile()
		require.NoError(t, err)
		require.Equal(t, !c.shared, ok, "case %d", c.number)
		if !ok {
			continue
		}
		require.Equal(t, run.CriticFile, file.Name)
		require.Equal(t, map[string]string{"policy": "mlp:3", "value": "plain"}, file.Metadata)
		v, err := training.State()
		require.NoError(t, err)
		state := v.(State)
		agent := 0
		if c.agents > 1 {
			recent := graphtest.Floats(t, state.Recent.mean())
			for i, x := range recent {
				if x > recent[agent] {
					agent = i
				}
			}
		}
		for i, leaf := range graph.Leaves(state.Params.Critic) {
			want := graphtest.Floats(t, leaf)
			got := graphtest.Floats(t, graph.Leaves(file.Arrays)[i])
			require.Equal(t, want[agent*len(got):(agent+1)*len(got)], got, "case %d", c.number)
		}
		require.NoError(t, training.Close())
	}
}
