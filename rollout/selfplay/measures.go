package selfplay

import "slices"

// Measures returns the names of a run's metrics, of puzzles and of games for two players.
func (c *Config) Measures() []string {
	return slices.Concat(playMetrics, trainMetrics, []string{"training_steps", "elo", "score_random", "score_search",
		"score_untrained", "score_older", "wins_kept"})
}
