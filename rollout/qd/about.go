package qd

import (
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

var (
	_ run.Player     = (*Config)(nil)
	_ run.Suggesting = (*Config)(nil)
)

// About describes the experiment.
func (c *Config) About() run.About {
	return run.About{
		Setup: fmt.Sprintf("archive %s, %s, %d x %s, %s, seed %d", c.Archive, c.Emitter, c.Batch, c.Policy,
			quantity.Count(c.Steps, "step", "steps"), c.Seed),
		Purpose:  "qd " + settings.Words(c, c.unused()...),
		Measures: c.measures,
		Check:    c.Check,
		Size:     "batch",
	}
}

// unused returns the names of settings that choose a part for which the run has no use.
func (c *Config) unused() (names []string) {
	if e, err := emitters.Choose(c.Emitter, nil); err == nil {
		if _, ok := e.(StrategyEmitter); !ok {
			names = append(names, "strategy")
		}
	}
	if a, err := archives.Choose(c.Archive, nil); err == nil && !a.Needs().Descriptor {
		names = append(names, "descriptor")
	}
	return names
}

// measures returns the names of all metrics, of mistaken settings those of an archive with one elite in each cell.
func (c *Config) measures() []string {
	p, err := c.program()
	if err != nil {
		p = &Program{Container: eliteCells{}}
	}
	return append(p.metricNames(), "env_steps")
}
