package evolve

import "xlarun/rollout/run"

var (
	_ run.Player  = (*Config)(nil)
	_ run.Planned = (*Config)(nil)
	_ run.Laned   = (*Config)(nil)
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
