package ppo

import (
	"fmt"

	"xlarun/rollout/run"
)

var (
	_ run.Player = (*Config)(nil)
	_ run.Player = (*PQN)(nil)
)

// About describes the experiment.
func (c *Config) About() run.About {
	return run.About{Setup: c.setup(), Purpose: c.Purpose(), Programs: c.Programs(), Measures: c.Measures,
		Check: c.Check, Size: "envs"}
}

// About describes the experiment.
func (q *PQN) About() run.About {
	c := q.config()
	return run.About{Setup: c.setup(), Purpose: q.Purpose(), Measures: q.Measures, Check: q.Check, Size: "envs"}
}

// setup says in a line what is run.
func (c *Config) setup() string {
	agents := ""
	if c.Agents > 1 {
		agents = fmt.Sprintf("%d agents, ", c.Agents)
	}
	return fmt.Sprintf("%s%s, %d environments x %d steps, %d x %d minibatches, seed %d", agents, c.Policy, c.Envs,
		c.Horizon, c.Epochs, c.Minibatches, c.Seed)
}

// Fame returns nil: there is no hall of fame.
func (t *Training) Fame(run.Snapshot) ([]run.Famed, error) { return nil, nil }
