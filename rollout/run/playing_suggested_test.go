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
		{"27.192 the environment ends before", "Pendulum-v1", nil, 200},
		{"27.193 the environment ends later", "Breakout-MinAtar-v1", nil, nil},
		{"27.194 the environment ends in the last step", "CartPole-v1", nil, nil},
		{"27.195 a parameter ends it", "Pendulum-v1", settings.Pairs{"max-steps": "300"}, 300},
		{"27.196 the longest of a range", "Pendulum-v1", settings.Pairs{"max-steps": "100..150"}, 150},
		{"27.197 a parameter beyond the steps", "Pendulum-v1", settings.Pairs{"max-steps": "1000"}, nil},
		{"27.198 a parameter that is none", "Pendulum-v1", settings.Pairs{"max-steps": "x"}, nil},
		{"27.199 an environment that is none", "Pendelum-v1", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run.Playing{Scene: run.Scene{Env: c.env, EnvParam: c.params}, Steps: 500}
			require.Equal(t, c.steps, p.Suggested()["steps"])
			if c.steps == nil {
				require.Empty(t, p.Remark(), "31.345")
			} else {
				require.Equal(t, fmt.Sprintf("%s ends an episode at step %d: the later ones of --steps 500 are "+
					"computed and counted for nothing", c.env, c.steps), p.Remark(), "31.345")
			}
		})
	}
}
