package qd

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// once returns a copy whose program is made once, so that the start of a run does not repeat the check before. Nobody
// changes its settings.
func (c *Config) once() *Config {
	own := *c
	own.Parted, own.EnvParam, own.Reference = maps.Clone(c.Parted), maps.Clone(c.EnvParam), slices.Clone(c.Reference)
	own.made = sync.OnceValues(own.makeProgram)
	return &own
}

// Job says what is run. It has a copy of the settings, whose program is made once.
func (c *Config) Job() *run.Job {
	c = c.once()
	job := c.Plays(run.Job{
		Last: int64(c.Generations), Board: c.Board, Start: c.Start,
		Setup: fmt.Sprintf("archive %s, %s, %d x %s, %s, seed %d", c.Archive, c.Emitter, c.Batch, c.Policy,
			quantity.Count(c.Steps, "step", "steps"), c.Seed),
		Purpose:  c.purpose(),
		Measures: c.measures,
		Check:    c.Check,
		Size:     "batch",
	}, c.Rollout)
	job.Suggested = c.Suggested
	return job
}

// purpose returns what the programs are for.
func (c *Config) purpose() string { return "qd " + settings.Words(c, c.unused()...) }

// unused returns the names of settings that choose a part for which the run has no use.
func (c *Config) unused() (names []string) {
	if e, err := emitters.Choose(c.Emitter, nil); err == nil {
		if e.Traits().SetStrategy == nil {
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
	names := slices.Concat(eliteCells{}.Metrics(), memberMetrics)
	if p, err := c.program(); err == nil {
		names = p.metricNames()
	}
	return append(append(names, run.EnvSteps, run.ComputedSteps), c.EvalMeasures()...)
}
