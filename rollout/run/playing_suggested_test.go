package run_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/all"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

func TestEpisodesEndWithTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, env string
		params    settings.Pairs
		steps     any // nil: none is suggested
	}{
		{"the environment ends before", "Pendulum-v1", nil, 200},
		{"the environment ends later", "Breakout-MinAtar-v1", nil, nil},
		{"the environment ends in the last step", "CartPole-v1", nil, nil},
		{"a parameter ends it", "Pendulum-v1", settings.Pairs{"max-steps": "300"}, 300},
		{"the longest of a range", "Pendulum-v1", settings.Pairs{"max-steps": "100..150"}, 150},
		{"a parameter beyond the steps", "Pendulum-v1", settings.Pairs{"max-steps": "1000"}, nil},
		{"a parameter that is none", "Pendulum-v1", settings.Pairs{"max-steps": "x"}, nil},
		{"an environment that is none", "Pendelum-v1", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run.EpisodeSettings{EnvSettings: run.EnvSettings{Env: c.env, EnvParam: c.params}, Steps: 500}
			require.Equal(t, c.steps, p.Suggested()["steps"])
			if c.steps == nil {
				require.Empty(t, p.Remark())
			} else {
				require.Equal(t, fmt.Sprintf("%s ends an episode at step %d: the later ones of --steps 500 are "+
					"computed and counted for nothing", c.env, c.steps), p.Remark())
			}
		})
	}
}
