package selfplay

import "slices"

// Measures are the names of a run's metrics, those of puzzles and of games of two alike.
func (c *Config) Measures() []string {
	return slices.Concat(playMetrics, trainMetrics, []string{"training_steps", "elo", "score_random", "score_search",
		"score_untrained", "score_older", "wins_kept"})
}
