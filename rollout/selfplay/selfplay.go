// Package selfplay learns games by playing them against itself, as AlphaZero does (Silver et al., "A general
// reinforcement learning algorithm that masters chess, shogi, and Go through self-play", 2018). An iteration has three
// parts: searches with the network play games; the network learns the policies of the searches and the results of the
// games; the network is rated by matches. Games, replay, training and matches are compiled programs whose arrays stay
// on the devices.
package selfplay

import (
	"fmt"
	"math"

	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "selfplay",
		Short: "Learn a game by playing it against oneself, with tree search",
		Long: "Selfplay learns a game of two players, or a puzzle. By default, players color the edges of a complete " +
			"graph until one closes a clique. An iteration is self-play with tree search, training on the games, and " +
			"matches against other players.\n" +
			"The run's folder holds the resolved config, metrics, checkpoints, the network, a game as a GIF, and the " +
			"colorings that were found.",
		Example: "  xlarun selfplay --vertices 6 --k 3\n" +
			"  xlarun selfplay --vertices 14 --k 4 --num_episodes 1000 --game_batch_size 64 " +
			"--training_batch_size 256\n" +
			"  xlarun selfplay --vertices 6 --k 3 --variant avoid\n" +
			"  xlarun selfplay --vertices 5 --k 3 --variant ramsey\n" +
			"  xlarun selfplay --game tictactoe",
		Version:   2,
		Unit:      "iteration",
		Length:    "num-iterations",
		Unbounded: true,
		Work:      "simulations of all searches",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Profile returns what was compiled.
func (t *Training) Profile() run.Profile { return t.profile }

// Compiled returns the program that plays; without UseTrueMCTX, the program that trains.
func (t *Training) Compiled() *xlabridge.Compiled {
	if t.play == nil {
		return t.train.Program()
	}
	return t.play.Program()
}

// Ending summarizes the run.
func (t *Training) Ending(last run.Metrics) string {
	if x, ok := last.Get("best_return"); ok {
		text := fmt.Sprintf("at best %.4g %% of the edges are colored", 100*x)
		if len(t.found) > 0 {
			text += fmt.Sprintf("; different whole colorings that are kept: %d", len(t.found))
		}
		return text
	}
	elo := t.pool.newest()
	if math.IsNaN(elo) {
		return "without an evaluation"
	}
	text := fmt.Sprintf("Elo %.0f", elo)
	if x, ok := last.Get(eloErrorMetric); ok {
		text += fmt.Sprintf(" ± %.0f", x)
	}
	for _, v := range []struct{ name, words string }{{"score_random", "against random"},
		{"score_untrained", "against the untrained network"}} {
		if x, ok := last.Get(v.name); ok {
			text += fmt.Sprintf(", %.4g %% %s", 100*x, v.words)
		}
	}
	return text
}
