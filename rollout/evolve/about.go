package evolve

import "xlarun/rollout/run"

var (
	_ run.Player   = (*Config)(nil)
	_ run.Planned  = (*Config)(nil)
	_ run.Laned    = (*Config)(nil)
	_ run.Members  = (*Evolution)(nil)
	_ run.Results  = (*Evolution)(nil)
	_ run.Lending  = (*Evolution)(nil)
	_ run.Profiled = (*Evolution)(nil)

	_ run.GoalReacher = (*Evolution)(nil)
)

// About describes the experiment.
func (c *Config) About() run.About {
	about := run.About{Setup: c.Setup(), Purpose: c.Purpose(), Measures: c.Measures, Check: c.Check, Given: c.Given(),
		Size: "pop"}
	if c.Island != "" {
		about.Prepare = c.tryPool
	}
	return about
}
