package selfplay

import (
	"fmt"
	"slices"

	"xlarun/rollout/run"
)

// Job says what is run.
func (c *Config) Job() *run.Job {
	job := &run.Job{
		Title: c.Title(), Last: int64(c.NumIterations), Board: c.Board, Start: c.Start,
		Setup: fmt.Sprintf("%s, %s, %d games an iteration, %d simulations (%s), batches of %d, seed %d", c.Title(),
			c.Network, c.NumEpisodes, c.NumSimulations, c.Search, c.TrainingBatchSize, c.Seed),
		Purpose: c.Purpose(),
		Measures: func() []string { // of puzzles and of games for two
			return slices.Concat(playMetrics, trainMetrics, []string{"training_steps", "elo", eloErrorMetric,
				"score_random", "score_search", "score_untrained", "score_older"}, run.EvalNames(),
				[]string{"wins_kept", "won_classes_kept"})
		},
		Check: c.Check,
		Size:  "game-batch-size",
	}
	if c.Schedule != "constant" { // with more iterations, the learning rate of each would be another
		job.Bound = []string{"num-iterations"}
	}
	return job
}

// Describe says what the run can do.
func (t *Training) Describe() *run.Capabilities {
	return &run.Capabilities{Closing: t.Closing, Ending: t.Ending, Table: t.Table, Files: t.Files, Cost: t.Cost,
		Phases: t.Phases, Program: t.Compiled}
}

// Table returns what the last evaluation proved, if the game has a perfect player.
func (t *Training) Table() []string {
	if t.proof == "" {
		return nil
	}
	return []string{t.proof}
}
