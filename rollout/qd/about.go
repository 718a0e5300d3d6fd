package qd

import (
	"fmt"

	"xlarun/rollout/run"
)

var (
	_ run.Player     = (*Config)(nil)
	_ run.Suggesting = (*Config)(nil)
	_ run.Members    = (*Run)(nil)
	_ run.Results    = (*Run)(nil)

	_ run.Reevaluating = (*Run)(nil)
)

// About describes the experiment.
func (c *Config) About() run.About {
	return run.About{
		Setup: fmt.Sprintf("archive %s, %s, %d x %s, %d steps, seed %d", c.Archive, c.Emitter, c.Batch, c.Policy,
			c.Steps, c.Seed),
		Measures: func() []string { return append(metricNames[:len(metricNames):len(metricNames)], "env_steps") },
		Check:    c.Check,
	}
}
