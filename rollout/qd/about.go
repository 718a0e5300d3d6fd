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
	_ run.Mapper       = (*Run)(nil)
)

// About describes the experiment.
func (c *Config) About() run.About {
	return run.About{
		Setup: fmt.Sprintf("archive %s, %s, %d x %s, %d steps, seed %d", c.Archive, c.Emitter, c.Batch, c.Policy,
			c.Steps, c.Seed),
		Measures: c.measures,
		Check:    c.Check,
		Size:     "batch",
	}
}

// measures returns the names of all metrics, of mistaken settings those of an archive with one elite in each cell.
func (c *Config) measures() []string {
	p, err := c.program()
	if err != nil {
		p = &Program{Container: eliteCells{}}
	}
	return append(p.metricNames(), "env_steps")
}
