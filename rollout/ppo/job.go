package ppo

import (
	"fmt"

	"xlarun/rollout/run"
)

// Job says what is run.
func (c *Config) Job() *run.Job {
	return &run.Job{Title: c.Env, Last: c.Last(), Board: c.Board, Start: c.Start, Setup: c.setup(),
		Purpose: c.Purpose(), Programs: c.Programs(), Measures: c.Measures, Suggested: c.Suggested, Check: c.Check,
		Size: "envs", Play: &run.Play{Rollout: c.Rollout, EvalEpisodes: c.EvalEpisodes, Goal: c.Goal}}
}

// Job says what is run.
func (q *PQN) Job() *run.Job {
	c := q.config()
	return &run.Job{Title: q.Env, Last: q.Last(), Board: q.Board, Start: q.Start, Setup: c.setup(),
		Purpose: q.Purpose(), Measures: q.Measures, Check: q.Check, Size: "envs",
		Play: &run.Play{Rollout: q.Rollout, EvalEpisodes: q.EvalEpisodes, Goal: q.Goal}}
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

// HallEntries returns nil: there is no hall of fame.
func (t *Training) HallEntries(run.Snapshot) ([]run.HallEntry, error) { return nil, nil }
